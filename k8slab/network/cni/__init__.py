"""The Container Network Interface: how a runtime asks a plugin for a Pod's network. See `skeleton` for a plugin's side
and `libcni` for a runtime's."""
