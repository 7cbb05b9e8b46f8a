"""`tilec`, the command line.

| file | what it is about |
| --- | --- |
| `main` | the commands, and what happens to every kind of failure |
| `terminal`, `files`, `crash` | printing diagnostics; reading and writing files; reports of compiler bugs |
| `check`, `fmt`, `explain`, `compile`, `run`, `profile`, `bench`, `doctor` | one command each |
| `arguments`, `arrays` | `x=randn(4,5)`: reading the words of `tilec run`, and making arrays from them |
| `summary`, `compare` | what `tilec run` prints about an output, and `--expect` |
| `profile_text` | a profile as tables, and as JSON |

Nothing here is imported before its command is used, so that `tilec check` starts fast.
"""
