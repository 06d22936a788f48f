"""push.db: the rows that are the work. Peewee lives only here; rows leave as values of `push.model`."""
