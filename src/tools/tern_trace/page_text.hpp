// SPDX-License-Identifier: Apache-2.0
// The fixed parts of the page: page.html, page.css and page.js, compiled into the program.
#pragma once

namespace tern::trace_tool {

extern const char kPageFrame[], kPageStyle[], kPageScript[];

}  // namespace tern::trace_tool
