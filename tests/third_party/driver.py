"""Types several commands in one process, and prints what each said; one start instead of eight."""

import contextlib
import io
import json
import sys

from evenhand.cli.main import main

SAID = []
for words in json.loads(sys.argv[1]):
    out, code = io.StringIO(), 0
    sys.argv = ["evenhand", *words]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    SAID.append([code, out.getvalue()])
print(json.dumps(SAID))
