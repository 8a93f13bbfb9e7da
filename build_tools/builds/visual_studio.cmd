@echo off
rem Prints the environment, calls a batch file, and prints the environment again: each as one line of JSON behind a mark.
rem All that differs from run to run comes by variables, so that no quote of this file depends on a path.
"%HIPWRIGHT_PYTHON%" -I -X utf8 -c "import json, os; print(os.environ['HIPWRIGHT_MARK'] + json.dumps(dict(os.environ)))"
call "%HIPWRIGHT_SCRIPT%" %HIPWRIGHT_ARGUMENTS%
"%HIPWRIGHT_PYTHON%" -I -X utf8 -c "import json, os; print(); print(os.environ['HIPWRIGHT_MARK'] + json.dumps(dict(os.environ)))"
