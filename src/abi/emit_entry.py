# SPDX-License-Identifier: Apache-2.0
"""C++ of the entry points: for each row its functions, checks, the body, the weak MPI_ names."""
import itertools

import emit_traced
from emit_bodies import body_name, shared_params
from table import HANDLES, WIDE

HEAD = '''// SPDX-License-Identifier: Apache-2.0
// Generated from src/abi/functions.txt by generate.py: the entry points of chapter "{chapter}".
#include "mpix.h"

#include "abi/checks.hpp"
#include "abi/entry.hpp"
#include "abi/fork.hpp"
#include "api/bodies.hpp"
{more}
#pragma GCC diagnostic ignored "-Wunused-parameter"

using namespace tern;
using namespace tern::abi;

extern "C" {{
'''
TAIL = '}  // extern "C"\n'
FORMS = {  # form of a collective -> enumerator of api::Form::Kind, its further member, and the part (api/refused_call.hpp)
    'blocking': ('kBlocking', '', 'kCollective'), 'nonblocking': ('kNonblocking', ', request', 'kCollective'),
    'persistent': ('kPersistent', ', request', 'kPersistent'), 'enqueue': ('kEnqueued', '', 'kEnqueued')}
SENDS = {'blocking': 'send_as', 'nonblocking': 'isend_as', 'persistent': 'send_init_as'}
HEARS = ('comm', 'win', 'file', 'session')  # kinds of objects with an error handler


class Entry:
    """Writes one entry point. The resolved value of parameter `x` is named `x_`."""

    def __init__(self, function, large):
        self.f, self.large, self.out = function, large, []
        self.rooted = any(p.kind == 'root' for p in function.params)
        self.widens = not large and any(
            p.wide and p.array and p.direction == 'in' and WIDE[p.kind][0] == 'int' for p in function.params)
        self.moves_data = any(p.kind in ('buffer', 'inplace') for p in function.params)
        self.object = next((p for p in function.params
                            if p.kind in HEARS and not p.array and p.direction != 'out'), None)
        if self.object is None:  # the handler of the object to be created
            self.object = next((p for p in function.params
                                if p.kind == 'errhandler' and p.direction == 'in'), None)

    def line(self, text):
        self.out.append('  ' + text)

    def refuse(self, condition, answer):
        self.line(f'if ({condition}) [[unlikely]] return {self.refusal(answer)};')

    def refusal(self, answer):
        return answer if self.widens else f'raise(call, {answer})'

    # -- significance of arguments

    def condition(self, p):
        """The C++ condition under which `p` is significant; '' for always."""
        found = [self.role(p)] if self.role(p) else []
        before = self.f.params[:self.f.params.index(p)]
        near = next((q for q in reversed(before) if q.kind in ('buffer', 'inplace')), None)
        if near and near.kind == 'inplace' and p.kind in ('count', 'disp', 'datatype'):
            found.append(f'{near.name} != MPI_IN_PLACE')
        return ' && '.join(found)

    def role(self, p):
        """The C++ condition for a rooted collective's argument; '' if significant on all ranks."""
        if self.f.name.endswith('et_accumulate') and p.name.startswith('origin_'):
            return 'op != MPI_NO_OP'
        if not self.rooted or p.kind not in ('buffer', 'inplace', 'count', 'disp', 'datatype', 'op'):
            return ''
        if p.root_only:
            return 'roles.root'
        one_side = any(q.root_only for q in self.f.params) and (
            p.kind in ('buffer', 'inplace') or self.has_root_types())
        return 'roles.leaf' if one_side else 'roles.part'

    def has_root_types(self):
        return any(p.root_only and p.kind == 'datatype' for p in self.f.params)

    # -- handles

    def resolve(self, p):
        value = p.name if p.direction == 'in' else f'*{p.name}'
        kind = HANDLES[p.kind][1]
        if p.direction != 'in':
            self.refuse(f'{p.name} == nullptr', f'null_argument("{p.name}")')
        look_up = f'call.find<{kind}>({value})'
        if p.null:
            look_up = f'{value} == {p.null} ? nullptr : {look_up}'
        elif p.kind in ('datatype', 'op') and self.condition(p):
            ignored = 'ignored_type' if p.kind == 'datatype' else 'ignored_op'
            look_up = f'{self.condition(p)} ? {look_up} : {ignored}(call)'
        no_message = self.no_message(p)
        self.line(f'{kind}* {"" if no_message else "const "}{p.name}_ = {look_up};')
        if no_message:
            self.line(f'if ({p.name}_ == nullptr && {no_message}) {p.name}_ = ignored_type(call);')
        failed = f'{p.name}_ == nullptr'
        if p.null:
            failed += f' && {value} != {p.null}'
        self.refuse(failed, f'bad_handle<{kind}>("{p.name}", {value})')

    def no_message(self, p):
        """The C++ condition for a legal null datatype: no data, to or from MPI_PROC_NULL, as in MPICH and Open MPI."""
        at = self.f.params.index(p)
        counts = [q for q in self.f.params[:at] if q.kind == 'count']
        ranks = list(itertools.takewhile(lambda q: q.kind != 'buffer', self.f.params[at:]))
        ranks = [q for q in ranks if q.kind in ('dest', 'source')]
        if p.kind != 'datatype' or p.direction != 'in' or p.null or not counts or not ranks:
            return ''
        return ' && '.join([f'{p.name} == MPI_DATATYPE_NULL', f'{counts[-1].name} == 0',
                            *(f'{q.name} == MPI_PROC_NULL' for q in ranks)])

    def is_object(self, p):
        return p.handle and HANDLES[p.kind][1] and not p.array and p.direction != 'out'

    def file_errors(self):
        """Without an open file, errors of a file's function go to the handler of MPI_FILE_NULL."""
        return self.f.chapter == 'io' or any(p.kind == 'file' and not p.array for p in self.f.params)

    def resolve_all(self):
        for p in self.f.params:  # the results of a failed call
            if p.kind == 'comm' and p.direction == 'out':
                self.line(f'if ({p.name} != nullptr) *{p.name} = MPI_COMM_NULL;')
        if self.object:
            self.resolve(self.object)
            self.line(f'call.at = {self.object.name}_;')
            if self.object.kind == 'file':
                self.line(f'if ({self.object.name}_ != nullptr) call.hearer = nullptr;')
            if self.part():
                self.line(f'call.part = api::CallContext::{self.part()};')
        if any(p.kind == 'root' for p in self.f.params):
            self.refuse(f'bad_root(root, *{self.object.name}_)', 'explain_root(call, "root", root)')
        if self.rooted:
            self.line(f'const Roles roles(root, *{self.object.name}_);')
        for p in self.f.params:
            if self.is_object(p) and p is not self.object:
                self.resolve(p)
            elif p.kind in ('request', 'live_request') and p.direction != 'out' and not p.array:
                self.check_request(p)

    def check_request(self, p):
        if p.direction != 'in':
            self.refuse(f'{p.name} == nullptr', f'null_argument("{p.name}")')
        value = p.name if p.direction == 'in' else f'*{p.name}'
        null = f'{value} != MPI_REQUEST_NULL && ' if p.kind == 'request' else ''
        self.refuse(f'{null}call.find<core::Request>({value}) == nullptr',
                    f'bad_handle<core::Request>("{p.name}", {value})')

    # -- widening

    def length_of(self, p):
        comm = f'*{self.object.name}_' if self.object else None
        named = {'peers': f'peers({comm})', 'members': f'members({comm})',
                 'indegree': f'indegree({comm})', 'outdegree': f'outdegree({comm})'}
        return p.length if any(q.name == p.length for q in self.f.params) else named[p.length]

    def widen(self):
        for p in self.f.params:
            condition = self.condition(p)
            if p.only_large and not self.large and p.direction == 'out' and not p.array:
                self.line(f'MPI_Count {p.name}_ = 0;')
            if not p.wide:
                continue
            if p.array and p.direction == 'in' and WIDE[p.kind][0] == 'int' and not self.large:
                value = f'{condition} ? {p.name} : nullptr' if condition else p.name
                wide = f'Widened<{WIDE[p.kind][2]}>'
                self.line(f'const {wide} {p.name}_({value}, {self.length_of(p)});')
                self.refuse(f'{p.name}_.failed()', 'no_memory()')
            elif not p.array and p.direction == 'in' and condition:
                self.line(f'const {WIDE[p.kind][2]} {p.name}_ = {condition} ? {p.name} : 0;')

    def local_outs(self):
        """Before the body: variables for results to be narrowed."""
        for p in self.f.params:
            if p.wide and not p.array and p.direction != 'in' and not self.large:
                start = f'*{p.name}' if p.direction == 'inout' else '0'
                self.line(f'{WIDE[p.kind][2]} {p.name}_ = {start};')

    def narrow(self):
        for p in self.f.params:
            if p.wide and not p.array and p.direction != 'in' and not self.large:
                value = f'narrowed({p.name}_)' if WIDE[p.kind][0] == 'int' else f'{p.name}_'
                self.line(f'if (code == MPI_SUCCESS) *{p.name} = {value};')

    # -- checks

    def resolved(self, p):
        scalar = p.wide and not p.array and p.direction == 'in'
        return f'{p.name}_' if scalar and self.condition(p) else p.name

    def checks(self):
        found = []
        for p in self.f.c_params(self.large):
            if p.raw is None:
                found += self.checks_of(p)
        if found:
            self.line('if (TERN_LIKELY(call.process->checks)) {')
            for condition, answer in found:
                self.line(f'  if ({condition}) [[unlikely]] return {self.refusal(answer)};')
            self.line('}')

    def checks_of(self, p):
        name, comm = p.name, f'*{self.object.name}_' if self.object else None
        if p.kind == 'status' and p.direction != 'out':
            return [(f'{name} == nullptr', f'no_status("{name}")')]
        if p.direction != 'in' and not p.array and p.kind not in ('buffer', 'inplace'):
            if p.may_be_null or self.is_object(p) or p.direction == 'inout' and 'request' in p.kind:
                return []
            return [(f'{name} == nullptr', f'null_argument("{name}")')]
        if p.array:
            length = next((q for q in self.f.params if q.name == p.length), None)
            if not length or p.may_be_null:
                return []
            return [(f'{name} == nullptr && {length.name} > 0', f'null_argument("{name}")')]
        if p.kind in ('buffer', 'inplace'):
            return self.buffer_check(p)
        if p.kind == 'datatype' and self.moves_data:
            return [(f'!{name}_->committed()', f'not_committed("{name}", *{name}_)')]
        if p.kind == 'bytes' and self.object and self.part():  # a window's body notifies all ranks
            return []
        if p.kind == 'string' and p.may_be_null:  # significant at the root only
            return []
        value = self.resolved(p)
        simple = {'count': f'{value} < 0', 'length': f'{value} < 0', 'bytes': f'{value} < 0',
                  'tag': f'bad_tag({value})', 'anytag': f'bad_any_tag({value})',
                  'string': f'{value} == nullptr'}
        if p.kind in simple:
            kind = 'count' if p.kind == 'length' else 'tag' if p.kind == 'anytag' else p.kind
            answer = f'null_argument("{name}")' if kind == 'string' else \
                f'explain_{kind}("{name}", {value})'
            return [(simple[p.kind], answer)]
        ranked = self.object and self.object.kind == 'comm' and p.kind in ('dest', 'source', 'rank')
        if ranked:
            return [(f'bad_{p.kind}({name}, {comm})', f'explain_rank(call, "{name}", {name})')]
        if p.kind == 'op' and self.moves_data:
            return [(f'bad_reduction(*{name}_)', f'explain_op("{name}", *{name}_)')]
        return []

    def buffer_check(self, p):
        behind = self.f.params[self.f.params.index(p) + 1:]
        count = next((q for q in behind if q.kind == 'count'), None)
        kind = next((q for q in behind if q.kind == 'datatype'), None)
        if not count or not kind or count.array or kind.array or p.kind == 'buffer' and \
                behind.index(count) > behind.index(kind):
            return []
        may = f'{p.name} != MPI_IN_PLACE && ' if p.kind == 'inplace' else ''
        must = f'{self.role(p)} && ' if self.role(p) else ''
        if p.may_be_null:
            must += f'counts_after_first(*{self.object.name}_, {self.f.params[0].name}) && '
        arguments = f'{p.name}, {self.resolved(count)}, *{kind.name}_'
        counts = ''
        if self.f.home == 'neighbor':
            degree = 'outdegree' if p.direction == 'in' else 'indegree'
            counts = f' && may_have_neighbors(*{self.object.name}_, {degree})'
        return [(f'{must}{may}bad_buffer({arguments}){counts}',
                 f'explain_buffer("{p.name}", {arguments})')]

    # -- the call of the body

    def argument(self, p):
        if p.only_large and not self.large:
            return 'nullptr' if p.array else '0' if p.direction == 'in' else f'&{p.name}_'
        if self.is_object(p) and p.direction == 'in':
            return f'{p.name}_' if p.null else f'*{p.name}_'
        condition = self.condition(p)
        if p.wide and p.array and WIDE[p.kind][0] == 'int' and not self.large:
            return f'{p.name}_.get()'
        if p.array and condition:
            return f'{condition} ? {p.name} : nullptr'
        if p.wide and not p.array and p.direction != 'in' and not self.large:
            return f'&{p.name}_'
        return self.resolved(p)

    def part(self):
        """The api::Part for which other ranks wait if this rank's arguments are refused."""
        if self.object.kind not in ('comm', 'file') or self.f.mode:
            return None
        return FORMS[self.f.form][2] if self.f.form else self.f.part and f'k{self.f.part}'

    def arguments(self, params):
        return ', '.join(self.argument(p) for p in params if p.raw != '...')

    def form(self):
        """The call of the body shared by all forms of a row."""
        if self.f.mode:
            return f'api::{SENDS[self.f.form]}<pml::Mode::{self.f.mode}>({self.arguments(self.f.params)})'
        kind, more, _ = FORMS[self.f.form]
        form = f'api::Form{{api::Form::Kind::{kind}{more}}}'
        return f'api::{self.f.base.lower()}({self.arguments(shared_params(self.f))}, {form})'

    def call_body(self):
        if self.object and self.part():
            self.line('call.part = api::CallContext::kNone;')
        call = self.form() if self.f.form else f'api::{body_name(self.f, self.large)}({self.arguments(self.f.params)})'
        narrows = not self.large and any(
            p.wide and not p.array and p.direction != 'in' for p in self.f.params)
        if narrows:
            self.local_outs()
            self.line(f'const int code = {call};')
            self.narrow()
            call = 'code'
        self.line(f'return {call};' if self.widens else f'return call.end({call});')

    def text(self):
        suffix = '_c' if self.large else ''
        body = '\n'.join(self.body(''))
        if emit_traced.is_recorded(self.f):
            return emit_traced.entry(self.f, self.large, body)
        return f"{self.f.prototype(self.large, 'P', suffix)} {{\n{body}\n}}\n"

    def twin(self, number):
        """The twin of a recorded function."""
        return emit_traced.twin(self.f, self.large, number, '\n'.join(self.body(', site')))

    def body(self, site):
        """The lines of the body. `site`: a further argument of Call."""
        suffix = '_c' if self.large else ''
        name = f'"{self.f.prefix}{self.f.name}{suffix}"'
        if self.f.raw:
            self.raw_body(name)
        elif not self.f.has_body:
            self.line(f'Call call{{{name}, api::the_process}};')
            answer = f'unsupported(call{self.stub_object()})'
            self.line(f'return call.end({answer});')
        else:
            process = '&api::any_process()' if self.f.anytime else 'api::the_process'
            self.line(f'Call call{{{name}, {process}{site}}};')
            if self.widens:
                self.line('return call.run([&]() __attribute__((always_inline)) {')
            if self.file_errors():
                self.line('call.hearer = api::file_null_handler();')
            if not self.f.anytime:
                self.refuse('call.process == nullptr', 'not_running()')
            self.resolve_all()
            self.widen()
            self.checks()
            self.call_body()
            if self.widens:
                self.line('});')
        return self.out

    def stub_object(self):
        if not self.object:
            return ''
        name = self.object.name
        return f', {name}' if self.object.direction == 'in' else f', {name} ? *{name} : nullptr'

    def raw_body(self, name):
        arguments = ', '.join(p.name for p in self.f.params if p.raw != '...')
        if self.f.has_body:
            self.line(f'return api::{body_name(self.f, self.large)}({arguments});')
        elif self.f.chapter == 'tool':
            self.line('return MPI_T_ERR_NOT_SUPPORTED;')
        else:
            self.line(f'name_unsupported({name});')
            self.line(f'return {self.f.returns}{{}};')


def alias(new, old, weak):
    how = 'weak, ' if weak else ''
    return f'__attribute__(({how}alias("{old}"))) decltype({old}) {new};\n'


def entry_points(function):
    """The entry points of one row, with weak MPI_ names."""
    parts = []
    for name, large in function.forms():
        if name != function.name and function.same_c:
            parts.append(alias(f'P{function.prefix}{name}', f'P{function.prefix}{function.name}', False))
        else:
            parts.append(Entry(function, large).text())
        parts.append(alias(f'{function.prefix}{name}', f'P{function.prefix}{name}', True))
    return ''.join(parts)


def twins(function, numbers):
    """The twins of one row. `numbers`: of recorded functions by name."""
    own = [form for form in function.forms() if not (form[0] != function.name and function.same_c)]
    return ''.join(Entry(function, large).twin(numbers[function.prefix + name]) for name, large in own)


def headers(rows, *first):
    more = [*first, *(header for header, wanted in (
        ('api/form.hpp', any(f.form and not f.mode for f in rows)),
        ('api/pt2pt/send_modes.hpp', any(f.mode for f in rows))) if wanted)]
    return ''.join(f'#include "{header}"\n' for header in more)


def chapter_file(chapter, rows):
    functions = '\n'.join(entry_points(f) for f in rows)
    return f'{HEAD.format(chapter=chapter, more=headers(rows))}\n{functions}\n{TAIL}'


def twin_file(chapter, rows, numbers):
    recorded = [f for f in rows if emit_traced.is_recorded(f)]
    declared = ''.join(emit_traced.declaration(f, large) for f in recorded for name, large in f.forms()
                       if not (name != f.name and f.same_c))
    text = '\n'.join(twins(f, numbers) for f in recorded)
    head = HEAD.format(chapter=chapter, more=headers(recorded, 'abi/traced.hpp'))
    return f'{head}\n{declared}\n{text}\n{TAIL}'
