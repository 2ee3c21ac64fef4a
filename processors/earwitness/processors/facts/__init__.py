"""One module for each family of facts: what frames say, copied into events. A family keeps no frame."""
