"""What a test holds in place of an object of the program's: all it is asked goes to the program."""

# What strings and sets answer with yes or no. An object of the program's is neither, and its yes is
# worth nothing.
PREDICATES = frozenset(
    n for n in dir(str) + dir(set) if n.startswith("is") or n in ("startswith", "endswith")
)
# Special attributes that are read like others. For the rest a type is asked, and only numpy asks an
# object: for memory to read as an array.
SPECIAL = frozenset("__name__ __qualname__ __doc__ __dict__ __annotations__".split())


class Object:
    # An object that lives in the program's process.

    __slots__ = ("_constructed", "_number", "_tests")
    __doc__ = property(lambda self: self._tests.ask("get", self._number, "__doc__"))

    def __init__(self, tests, number):
        object.__setattr__(self, "_tests", tests)
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_constructed", False)

    def __call__(self, *arguments, **keywords):
        return self._tests.call(self._number, list(arguments), keywords)

    def __getattr__(self, name):
        if (name.startswith("__") and name.endswith("__") and name not in SPECIAL) or (
            name in PREDICATES
        ):
            raise AttributeError(name)
        return self._tests.ask("get", self._number, name)

    def __setattr__(self, name, value):
        self._tests.request("set", self._number, name, self._tests.encode(value))

    def __delattr__(self, name):
        self._tests.request("delete", self._number, name)

    def _operator(self, name, *arguments):
        given = [self._tests.encode(a) for a in arguments]
        return self._tests.ask("operator", self._number, name, given)

    def __copy__(self):
        return self._operator("copy")

    def __deepcopy__(self, memo):
        return self._operator("deepcopy")

    def __len__(self):
        return self._operator("len")

    def __iter__(self):
        return Iterator(self._operator("iter"))

    def __next__(self):
        return self._operator("next")

    def __getitem__(self, key):
        return self._operator("item", key)

    def __setitem__(self, key, value):
        self._operator("set_item", key, value)

    def __delitem__(self, key):
        self._operator("delete_item", key)

    def __format__(self, form):
        return self._operator("format", form)

    def __contains__(self, item):
        # Where a function should return a collection, what it holds decides and not what it says.
        if self._constructed:
            return self._operator("contains", item)
        return any(item == each for each in self)

    def __bool__(self):
        return self._operator("bool") if self._constructed else True

    def __str__(self):
        return self._operator("str")

    def __repr__(self):
        return self._operator("repr")

    def __enter__(self):
        return self._operator("enter")

    def __exit__(self, *error):
        self._operator("exit")

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return self._number


class Iterator:
    """Iterates over the program's iterator (or over a plain copy of it)."""

    def __init__(self, source):
        self.source = source if hasattr(type(source), "__next__") else iter(source)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.source)
