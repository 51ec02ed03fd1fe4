"""What the four papers print, made from runs; nothing outside imports this room, and it may ship apart."""
