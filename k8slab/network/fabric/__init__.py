"""What plugins work on, simulated: namespaces, links, routes, NAT rules; and packets that walk through them."""
