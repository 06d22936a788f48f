"""The command line: words, arguments, exit codes. One file per noun."""
