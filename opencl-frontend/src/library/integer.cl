// part
