# SPDX-License-Identifier: Apache-2.0
"""Shared by the generators of source files."""
import os


def write(path, text):
    """Writes the file only if its content changes, to avoid rebuilds."""
    try:
        with open(path, encoding='utf-8') as old:
            if old.read() == text:
                return
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as new:
        new.write(text)
