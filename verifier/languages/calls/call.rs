
// ------------------------------------------------------------ not of the answer

mod verifier_call {
    //! Calls a function with arguments that are read from JSON.
    use std::any::Any;
    use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
    use std::fmt::{Debug, Display, Write as _};
    use std::hash::Hash;
    use std::io::Write as _;

    const MAX_BYTES: usize = 64 << 20;
    pub const MAX_NODES: usize = 8 << 20;

    pub enum Json {
        Null,
        Bool(bool),
        Number(String),
        Text(String),
        List(Vec<Json>),
        Object(Vec<(String, Json)>),
    }

    pub enum Failed {
        Unfit(String),
        Raised(String),
        NotPlain(String),
    }

    type Out = Result<(), String>;

    pub fn unfit<T>(got: &Json, wanted: &str) -> Result<T, String> {
        let got = match got {
            Json::Null => "null".to_string(),
            Json::Bool(_) => "a bool".to_string(),
            Json::Number(text) => format!("the number {}", text),
            Json::Text(_) => "a string".to_string(),
            Json::List(_) => "a list".to_string(),
            Json::Object(_) => "an object".to_string(),
        };
        Err(format!("it gives {} for {}", got.chars().take(60).collect::<String>(), wanted))
    }

    pub fn put(out: &mut String, text: &str) -> Out {
        if out.len() + text.len() > MAX_BYTES {
            return Err("the value is too large".to_string());
        }
        out.push_str(text);
        Ok(())
    }

    fn quoted(out: &mut String, text: &str) -> Out {
        let mut to = String::from("\"");
        for c in text.chars() {
            match c {
                '"' => to.push_str("\\\""),
                '\\' => to.push_str("\\\\"),
                c if (c as u32) < 32 => write!(to, "\\u{:04x}", c as u32).unwrap(),
                c => to.push(c),
            }
        }
        to.push('"');
        put(out, &to)
    }

    // -------------------------------------------------------- types

    /// What an argument can be.
    pub trait Read: Sized {
        fn read(from: &Json) -> Result<Self, String>;
        fn read_key(text: &str) -> Result<Self, String> {
            Self::read(&Json::Number(text.to_string()))
        }
        fn read_option(from: &Json) -> Result<Option<Self>, String> {
            match from {
                Json::Null => Ok(None),
                other => Self::read(other).map(Some),
            }
        }
    }

    /// What a result can be.
    pub trait Write {
        fn write(&self, out: &mut String) -> Out;
        fn write_key(&self, out: &mut String) -> Out {
            let mut text = String::new();
            self.write(&mut text)?;
            quoted(out, &text)
        }
        fn write_none(out: &mut String) -> Out {
            put(out, "null")
        }
    }

    macro_rules! integers {
        ($($t:ty)*) => {$(
            impl Read for $t {
                fn read(from: &Json) -> Result<Self, String> {
                    if let Json::Number(text) = from {
                        if let Ok(value) = text.parse::<$t>() {
                            return Ok(value);
                        }
                        if let Ok(value) = text.parse::<f64>() {
                            if value.trunc() == value && value.abs() < 9e15 && (value as i64) as $t as f64 == value {
                                return Ok((value as i64) as $t);
                            }
                        }
                    }
                    unfit(from, stringify!($t))
                }
            }
            impl Write for $t {
                fn write(&self, out: &mut String) -> Out { put(out, &self.to_string()) }
            }
        )*};
    }
    integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

    macro_rules! floats {
        ($($t:ty)*) => {$(
            impl Read for $t {
                fn read(from: &Json) -> Result<Self, String> {
                    match from {
                        Json::Number(text) => text.parse().or_else(|_| unfit(from, stringify!($t))),
                        _ => unfit(from, stringify!($t)),
                    }
                }
            }
            impl Write for $t {
                fn write(&self, out: &mut String) -> Out {
                    let value = *self as f64;
                    if value.is_nan() {
                        put(out, "NaN")
                    } else if value.is_infinite() {
                        put(out, if value < 0.0 { "-Infinity" } else { "Infinity" })
                    } else {
                        put(out, &format!("{:e}", value))
                    }
                }
            }
        )*};
    }
    floats!(f32 f64);

    impl Read for bool {
        fn read(from: &Json) -> Result<Self, String> {
            match from {
                Json::Bool(value) => Ok(*value),
                _ => unfit(from, "bool"),
            }
        }
    }
    impl Write for bool {
        fn write(&self, out: &mut String) -> Out {
            put(out, if *self { "true" } else { "false" })
        }
    }

    impl Read for char {
        fn read(from: &Json) -> Result<Self, String> {
            if let Json::Text(text) = from {
                let mut all = text.chars();
                if let (Some(c), None) = (all.next(), all.next()) {
                    return Ok(c);
                }
            }
            unfit(from, "char")
        }
        fn read_key(text: &str) -> Result<Self, String> {
            Self::read(&Json::Text(text.to_string()))
        }
    }
    impl Write for char {
        fn write(&self, out: &mut String) -> Out {
            quoted(out, &self.to_string())
        }
        fn write_key(&self, out: &mut String) -> Out {
            self.write(out)
        }
    }

    impl Read for String {
        fn read(from: &Json) -> Result<Self, String> {
            match from {
                Json::Text(text) => Ok(text.clone()),
                _ => unfit(from, "String"),
            }
        }
        fn read_key(text: &str) -> Result<Self, String> {
            Ok(text.to_string())
        }
    }
    impl Write for str {
        fn write(&self, out: &mut String) -> Out {
            quoted(out, self)
        }
        fn write_key(&self, out: &mut String) -> Out {
            quoted(out, self)
        }
    }
    impl Write for String {
        fn write(&self, out: &mut String) -> Out {
            quoted(out, self)
        }
        fn write_key(&self, out: &mut String) -> Out {
            quoted(out, self)
        }
    }
    impl<T: Write + ?Sized> Write for &T {
        fn write(&self, out: &mut String) -> Out {
            (**self).write(out)
        }
        fn write_key(&self, out: &mut String) -> Out {
            (**self).write_key(out)
        }
    }

    fn items<T: Read>(from: &Json) -> Result<Vec<T>, String> {
        match from {
            Json::List(items) => items.iter().map(T::read).collect(),
            _ => unfit(from, "a list"),
        }
    }

    fn write_list<'a, T: Write + 'a>(out: &mut String, items: impl Iterator<Item = &'a T>) -> Out {
        put(out, "[")?;
        for (i, item) in items.enumerate() {
            put(out, if i > 0 { "," } else { "" })?;
            item.write(out)?;
        }
        put(out, "]")
    }

    impl<T: Read> Read for Vec<T> {
        fn read(from: &Json) -> Result<Self, String> {
            items(from)
        }
    }
    impl<T: Write> Write for Vec<T> {
        fn write(&self, out: &mut String) -> Out {
            write_list(out, self.iter())
        }
    }
    impl<T: Write> Write for [T] {
        fn write(&self, out: &mut String) -> Out {
            write_list(out, self.iter())
        }
    }
    impl<T: Read> Read for VecDeque<T> {
        fn read(from: &Json) -> Result<Self, String> {
            Ok(items(from)?.into_iter().collect())
        }
    }
    impl<T: Write> Write for VecDeque<T> {
        fn write(&self, out: &mut String) -> Out {
            write_list(out, self.iter())
        }
    }
    impl<T: Read, const N: usize> Read for [T; N] {
        fn read(from: &Json) -> Result<Self, String> {
            items(from)?.try_into().or_else(|_| unfit(from, &format!("an array of {}", N)))
        }
    }
    impl<T: Write, const N: usize> Write for [T; N] {
        fn write(&self, out: &mut String) -> Out {
            write_list(out, self.iter())
        }
    }
    impl<T: Read + Ord> Read for BTreeSet<T> {
        fn read(from: &Json) -> Result<Self, String> {
            Ok(items(from)?.into_iter().collect())
        }
    }
    impl<T: Write> Write for BTreeSet<T> {
        fn write(&self, out: &mut String) -> Out {
            write_list(out, self.iter())
        }
    }
    impl<T: Read + Eq + Hash> Read for HashSet<T> {
        fn read(from: &Json) -> Result<Self, String> {
            Ok(items(from)?.into_iter().collect())
        }
    }
    impl<T> Write for HashSet<T> {
        fn write(&self, _: &mut String) -> Out {
            Err("a set without an order; return a Vec".to_string())
        }
    }

    fn pairs<K: Read, V: Read>(from: &Json) -> Result<Vec<(K, V)>, String> {
        match from {
            Json::Object(all) => {
                all.iter().map(|(k, v)| Ok((K::read_key(k)?, V::read(v)?))).collect()
            }
            _ => unfit(from, "a map"),
        }
    }

    fn write_map<'a, K: Write + 'a, V: Write + 'a>(
        out: &mut String,
        all: impl Iterator<Item = (&'a K, &'a V)>,
    ) -> Out {
        put(out, "{")?;
        for (i, (key, value)) in all.enumerate() {
            put(out, if i > 0 { "," } else { "" })?;
            key.write_key(out)?;
            put(out, ":")?;
            value.write(out)?;
        }
        put(out, "}")
    }

    impl<K: Read + Eq + Hash, V: Read> Read for HashMap<K, V> {
        fn read(from: &Json) -> Result<Self, String> {
            Ok(pairs(from)?.into_iter().collect())
        }
    }
    impl<K: Write, V: Write> Write for HashMap<K, V> {
        fn write(&self, out: &mut String) -> Out {
            write_map(out, self.iter())
        }
    }
    impl<K: Read + Ord, V: Read> Read for BTreeMap<K, V> {
        fn read(from: &Json) -> Result<Self, String> {
            Ok(pairs(from)?.into_iter().collect())
        }
    }
    impl<K: Write, V: Write> Write for BTreeMap<K, V> {
        fn write(&self, out: &mut String) -> Out {
            write_map(out, self.iter())
        }
    }

    impl<T: Read> Read for Option<T> {
        fn read(from: &Json) -> Result<Self, String> {
            T::read_option(from)
        }
    }
    impl<T: Write> Write for Option<T> {
        fn write(&self, out: &mut String) -> Out {
            match self {
                Some(value) => value.write(out),
                None => T::write_none(out),
            }
        }
    }

    impl<T: Write, E: Debug> Write for Result<T, E> {
        fn write(&self, out: &mut String) -> Out {
            match self {
                Ok(value) => value.write(out),
                Err(error) => Err(format!("an Err: {:?}", error)),
            }
        }
    }

    macro_rules! tuples {
        ($($n:literal: $($t:ident $i:tt)*;)*) => {$(
            impl<$($t: Read),*> Read for ($($t,)*) {
                fn read(from: &Json) -> Result<Self, String> {
                    match from {
                        Json::List(items) if items.len() == $n => Ok(($($t::read(&items[$i])?,)*)),
                        _ => unfit(from, concat!("a tuple of ", $n)),
                    }
                }
            }
            impl<$($t: Write),*> Write for ($($t,)*) {
                fn write(&self, out: &mut String) -> Out {
                    $(put(out, if $i > 0 { "," } else { "[" })?; self.$i.write(out)?;)*
                    put(out, "]")
                }
            }
        )*};
    }
    tuples! {
        1: A 0;
        2: A 0 B 1;
        3: A 0 B 1 C 2;
        4: A 0 B 1 C 2 D 3;
        5: A 0 B 1 C 2 D 3 E 4;
        6: A 0 B 1 C 2 D 3 E 4 F 5;
        7: A 0 B 1 C 2 D 3 E 4 F 5 G 6;
        8: A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7;
    }

    // -------------------------------------------------------- JSON

    /// The text was found to be JSON before it came here.
    struct Text<'a> {
        bytes: &'a [u8],
        at: usize,
    }

    impl Text<'_> {
        fn peek(&mut self) -> u8 {
            while self.at < self.bytes.len() && b" \n\t\r,:".contains(&self.bytes[self.at]) {
                self.at += 1;
            }
            *self.bytes.get(self.at).unwrap_or(&b']')
        }

        fn value(&mut self) -> Json {
            match self.peek() {
                b'[' => {
                    self.at += 1;
                    let mut items = Vec::new();
                    while self.peek() != b']' {
                        items.push(self.value());
                    }
                    self.at += 1;
                    Json::List(items)
                }
                b'{' => {
                    self.at += 1;
                    let mut all = Vec::new();
                    while !b"}]".contains(&self.peek()) {
                        let key = self.string();
                        all.push((key, self.value()));
                    }
                    self.at += 1;
                    Json::Object(all)
                }
                b'"' => Json::Text(self.string()),
                _ => {
                    let begin = self.at;
                    while self.at < self.bytes.len() && !b",]} \n\t\r:".contains(&self.bytes[self.at]) {
                        self.at += 1;
                    }
                    self.at = self.at.max(begin + 1);
                    match &String::from_utf8_lossy(&self.bytes[begin..self.at])[..] {
                        "null" => Json::Null,
                        "true" => Json::Bool(true),
                        "false" => Json::Bool(false),
                        word => Json::Number(word.to_string()),
                    }
                }
            }
        }

        fn hex(&mut self) -> u32 {
            let end = (self.at + 4).min(self.bytes.len());
            let text = String::from_utf8_lossy(&self.bytes[self.at..end]).to_string();
            self.at = end;
            u32::from_str_radix(&text, 16).unwrap_or(0xFFFD)
        }

        fn string(&mut self) -> String {
            let mut found = Vec::new();
            self.at += 1;
            while self.at < self.bytes.len() && self.bytes[self.at] != b'"' {
                let byte = self.bytes[self.at];
                self.at += 1;
                if byte != b'\\' {
                    found.push(byte);
                    continue;
                }
                let escape = *self.bytes.get(self.at).unwrap_or(&b'"');
                self.at += 1;
                let c = match escape {
                    b'b' => '\x08',
                    b'f' => '\x0c',
                    b'n' => '\n',
                    b'r' => '\r',
                    b't' => '\t',
                    b'u' => {
                        let mut code = self.hex();
                        if code >> 10 == 0x36 && self.bytes[self.at..].starts_with(b"\\u") {
                            let back = self.at;
                            self.at += 2;
                            let low = self.hex();
                            if low >> 10 == 0x37 {
                                code = 0x10000 + ((code & 1023) << 10) + (low & 1023);
                            } else {
                                self.at = back;
                            }
                        }
                        char::from_u32(code).unwrap_or('\u{fffd}')
                    }
                    other => other as char,
                };
                found.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            self.at += 1;
            String::from_utf8_lossy(&found).to_string()
        }
    }

    // -------------------------------------------------------- the call

    pub fn argument<T: Read>(given: &[Json], at: usize) -> Result<T, Failed> {
        T::read(&given[at])
            .map_err(|why| Failed::Unfit(format!("the test does not fit: argument {}: {}", at + 1, why)))
    }

    pub fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, Failed> {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).map_err(|e: Box<dyn Any + Send>| {
            let why = match (e.downcast_ref::<&str>(), e.downcast_ref::<String>()) {
                (Some(text), _) => text.to_string(),
                (_, Some(text)) => text.clone(),
                _ => String::new(),
            };
            Failed::Raised(format!("panicked: {}", why))
        })
    }

    pub fn answer<T: Write>(value: &T) -> Result<String, Failed> {
        let mut out = String::from("{\"ok\":true,\"value\":");
        value.write(&mut out).map_err(Failed::NotPlain)?;
        Ok(out + "}")
    }

    pub fn nothing() -> Result<String, Failed> {
        Ok("{\"ok\":true,\"value\":null}".to_string())
    }

    pub fn in_place<T: Write>(value: &T) -> Result<String, Failed> {
        let mut out = String::from("{\"ok\":true,\"value\":null,\"in_place\":");
        value.write(&mut out).map_err(Failed::NotPlain)?;
        Ok(out + "}")
    }

    fn failure(kind: &str, why: impl Display) -> String {
        let mut out = format!("{{\"ok\":false,\"kind\":\"{}\",\"error\":", kind);
        let _ = quoted(&mut out, &why.to_string().chars().take(600).collect::<String>());
        out + "}"
    }

    fn leave(mut channel: std::fs::File, record: &str, status: i32) -> ! {
        let _ = channel.write_all(record.as_bytes());
        std::process::exit(status)
    }

    fn channel() -> std::fs::File {
        let path = std::env::args().nth(2).unwrap();
        std::fs::OpenOptions::new().write(true).open(path).unwrap()
    }

    pub fn run(arity: usize, call: impl FnOnce(&[Json]) -> Result<String, Failed>) {
        let channel = channel();
        let bytes = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
        let given = match (Text { bytes: &bytes, at: 0 }).value() {
            Json::List(items) => items,
            _ => Vec::new(),
        };
        let result = if given.len() == arity {
            call(&given)
        } else {
            Err(Failed::Unfit(format!(
                "the function takes {} arguments, the test gives {}",
                arity,
                given.len()
            )))
        };
        match result {
            Ok(record) => leave(channel, &record, 0),
            Err(Failed::NotPlain(why)) => leave(channel, &failure("unserializable", why), 0),
            Err(Failed::Raised(why)) => leave(channel, &failure("raised", why), 101),
            Err(Failed::Unfit(why)) => {
                eprintln!("{}", why);
                leave(channel, &failure("raised", why), 101)
            }
        }
    }

    pub fn missing(name: &str) {
        leave(channel(), &failure("no_entry_point", format!("there is no function {}", name)), 0)
    }
}
