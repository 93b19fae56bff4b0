"""What unit tests are compiled and run with, inside of the jail; none of it is imported here."""
