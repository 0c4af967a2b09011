"""The web side of the studio: ``server`` has the routes, ``guard`` says who may use them, ``serving`` opens a port."""
