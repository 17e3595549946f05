# SPDX-License-Identifier: Apache-2.0
"""What the generators of source files share."""
import os


def write(path, text):
    """A file whose content stays the same is not touched, so nothing is rebuilt for it."""
    try:
        with open(path, encoding='utf-8') as old:
            if old.read() == text:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as new:
        new.write(text)
