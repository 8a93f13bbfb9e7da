"""Source trees: git shut off from the person's settings, mirrors, checkout, the phases' commits, and the copies that builds get."""
