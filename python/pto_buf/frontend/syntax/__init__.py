"""What a source says, before there is IR: modules, names, constants, and its syntax trees made plainer."""
