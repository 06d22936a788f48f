"""The way out: claim an outbound row, send its parts, record what came of each."""
