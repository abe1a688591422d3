"""What a user's script may import that is not installed here: enough of torch, golden and pypto to run its `main()`.

Written for this project on numpy; nothing here is part of those packages. See `pto_buf.sim.standins.imports`.
"""
