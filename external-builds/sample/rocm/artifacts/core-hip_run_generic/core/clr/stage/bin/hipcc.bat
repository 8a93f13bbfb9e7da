@python -I -S "%~dp0hipcc.py" %*
