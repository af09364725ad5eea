"""Runs the tests of one module: functions called test_…, and unittest's cases."""

import importlib
import inspect
import sys
import traceback
import unittest

module = importlib.import_module(sys.argv[1])
failed = 0
for name, test in sorted(vars(module).items()):
    if name.startswith("test") and inspect.isfunction(test) and not inspect.signature(test).parameters:
        try:
            test()
        except BaseException:
            failed += 1
            print(f"FAIL: {name}", file=sys.stderr)
            traceback.print_exc()

suite = unittest.defaultTestLoader.loadTestsFromModule(module)
if suite.countTestCases():
    result = unittest.TextTestRunner(verbosity=0).run(suite)
    failed += len(result.failures) + len(result.errors)

sys.exit(1 if failed else 0)
