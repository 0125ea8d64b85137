"""The plugins behind the protocol: host-local gives addresses, bridge and loopback make interfaces, portmap and
bandwidth change what is there."""
