// Calls a function with arguments that are read from JSON. C++11, since answers may be that.
//
// It comes before the answer, so that none of the answer's macros are known yet. What there is for
// a type is found by the compiler: `As<T>` reads and writes a T.

#pragma once
#include <bits/stdc++.h>
#include <cxxabi.h>
#include <fcntl.h>
#include <unistd.h>

namespace verifier_call {

// The arguments do not fit the function.
struct Unfit { std::string why; };
// The result has no JSON.
struct NotPlain { std::string why; };

const std::size_t MAX_BYTES = std::size_t(64) << 20, MAX_NODES = std::size_t(8) << 20;

// ------------------------------------------------------------ JSON

inline void put_utf8(std::string& to, unsigned c) {
    if (c < 0x80) to += char(c);
    else if (c < 0x800) { to += char(0xC0 | c >> 6); to += char(0x80 | (c & 63)); }
    else if (c < 0x10000) { to += char(0xE0 | c >> 12); to += char(0x80 | (c >> 6 & 63)); to += char(0x80 | (c & 63)); }
    else {
        to += char(0xF0 | c >> 18); to += char(0x80 | (c >> 12 & 63));
        to += char(0x80 | (c >> 6 & 63)); to += char(0x80 | (c & 63));
    }
}

// Reads one value after the other. The text was found to be JSON before it came here.
class Reader {
    const char *at, *end;

    unsigned hex4() {
        unsigned c = 0;
        for (int i = 0; i < 4 && at < end; i++, at++)
            c = c * 16 + unsigned(*at <= '9' ? *at - '0' : (*at | 32) - 'a' + 10);
        return c;
    }

public:
    explicit Reader(const std::string& text) : at(text.data()), end(text.data() + text.size()) {}

    char peek() {
        while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) at++;
        return at < end ? *at : '\0';
    }
    bool take(char c) { return peek() == c ? (at++, true) : false; }
    bool null() { return peek() == 'n' ? (at += 4, true) : false; }
    void open(char c, const char* wanted) { if (!take(c)) unfit(wanted); }
    // Whether another item follows; false behind the bracket that closes.
    bool more(bool first, char closes) {
        if (take(closes)) return false;
        if (!first && !take(',')) throw Unfit{"not JSON"};
        return true;
    }
    [[noreturn]] void unfit(const char* wanted) {
        char c = peek();
        std::string got = c == '"' ? "a string" : c == '[' ? "a list" : c == '{' ? "an object"
            : c == 't' || c == 'f' ? "a bool" : c == 'n' ? "null" : "the number " + number();
        throw Unfit{"it gives " + got.substr(0, 60) + " for " + wanted};
    }
    std::string number() {  // as it is written; also NaN and Infinity
        peek();
        const char* begin = at;
        while (at < end && !std::strchr(",]} \n\t\r:", *at)) at++;
        return std::string(begin, at);
    }
    std::string string(const char* wanted) {
        open('"', wanted);
        std::string found;
        while (at < end && *at != '"') {
            const char* plain = at;
            while (at < end && *at != '"' && *at != '\\') at++;
            found.append(plain, at);
            if (at >= end || *at == '"') break;
            char c = at[1];
            at += 2;
            if (c != 'u') {
                const char *from = "bfnrt", *to = "\b\f\n\r\t", *place = std::strchr(from, c);
                found += place ? to[place - from] : c;
                continue;
            }
            unsigned code = hex4();
            if (code >> 10 == 0x36 && end - at > 6 && at[0] == '\\' && at[1] == 'u') {
                const char* back = at;
                at += 2;
                unsigned low = hex4();
                if (low >> 10 == 0x37) code = 0x10000 + ((code & 1023) << 10) + (low & 1023);
                else at = back;
            }
            put_utf8(found, code);
        }
        at++;
        return found;
    }
    // How many items the list has that begins here.
    std::size_t count() const {
        std::size_t items = 0, depth = 0;
        bool any = false;
        for (const char* p = at; p < end; p++) {
            if (*p == '"') { for (p++; p < end && *p != '"'; p++) if (*p == '\\') p++; any = true; }
            else if (*p == '[' || *p == '{') { any = any || depth; depth++; }
            else if (*p == ']' || *p == '}') { if (--depth == 0) break; }
            else if (*p == ',') items += depth == 1;
            else if (*p > ' ') any = true;
        }
        return items + any;
    }
};

class Writer {
    std::string text;

public:
    void put(const std::string& more) {
        if (text.size() + more.size() > MAX_BYTES) throw NotPlain{"the value is too large"};
        text += more;
    }
    const std::string& all() const { return text; }
    void string(const std::string& value) {
        std::string to = "\"";
        for (std::size_t i = 0; i < value.size();) {
            unsigned char c = value[i];
            char escape[8];
            if (c < 0x20 || c == '"' || c == '\\') {
                std::snprintf(escape, sizeof escape, "\\u%04x", unsigned(c));
                to += escape;
                i++;
                continue;
            }
            std::size_t size = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
            unsigned code = size == 1 ? c : c & (0x7F >> size);
            bool good = size != 0 && i + size <= value.size();
            for (std::size_t k = 1; good && k < size; k++) {
                unsigned char next = value[i + k];
                good = next >> 6 == 2;
                code = code << 6 | (next & 63);
            }
            const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
            if (!good || code < least[size] || code > 0x10FFFF) { to += "\\ufffd"; i++; continue; }
            if (code >> 11 == 0x1B) {  // half of a pair: JSON can say it, UTF-8 cannot
                std::snprintf(escape, sizeof escape, "\\u%04x", code);
                to += escape;
            } else to.append(value, i, size);
            i += size;
        }
        put(to + '"');
    }
};

// ------------------------------------------------------------ types

template <class...> struct Void { typedef void type; };

template <class T, class = void> struct As {
    static void read(Reader&, T&) { throw Unfit{"it has a parameter of a type that JSON has not"}; }
    static void write(Writer&, const T&) { throw NotPlain{"a value of a type that JSON has not"}; }
};

template <> struct As<bool> {
    static void read(Reader& in, bool& to) {
        char c = in.peek();
        if (c != 't' && c != 'f') in.unfit("a bool");
        in.number();
        to = c == 't';
    }
    static void write(Writer& out, bool value) { out.put(value ? "true" : "false"); }
};

template <> struct As<char> {
    static void read(Reader& in, char& to) {
        std::string text = in.string("a char");
        if (text.size() != 1) throw Unfit{"it gives a string of " + std::to_string(text.size()) + " bytes for a char"};
        to = text[0];
    }
    static void write(Writer& out, char value) { out.string(std::string(1, value)); }
};

// Integers of any width, `__int128` too.
template <class T> struct As<T, typename std::enable_if<std::is_integral<T>::value>::type> {
    static void read(Reader& in, T& to) {
        char c = in.peek();
        if (c != '-' && !(c >= '0' && c <= '9')) in.unfit("an integer");
        std::string text = in.number();
        const std::string unfit = "it gives " + text.substr(0, 60) + " for an integer of " + std::to_string(sizeof(T)) + " bytes";
        if (text.find_first_of(".eE") != std::string::npos) {  // 3.0 is 3
            char* stop;
            long double value = std::strtold(text.c_str(), &stop);
            if (*stop || value != std::floor(value) || std::fabs(value) > 9e15L) throw Unfit{unfit};
            text = std::to_string((long long)value);
        }
        bool negative = text[0] == '-';
        T value = 0;
        for (std::size_t i = negative; i < text.size(); i++) {
            T digit = T(text[i] - '0');
            if (__builtin_mul_overflow(value, T(10), &value) ||
                (negative ? __builtin_sub_overflow(value, digit, &value) : __builtin_add_overflow(value, digit, &value)))
                throw Unfit{unfit};
        }
        to = value;
    }
    static void write(Writer& out, T value) {
        if (value == 0) return out.put("0");
        std::string text;
        bool negative = value < 0;
        for (T left = value; left != 0; left = T(left / 10)) text += char('0' + (negative ? -int(left % 10) : int(left % 10)));
        if (negative) text += '-';
        std::reverse(text.begin(), text.end());
        out.put(text);
    }
};

template <class T> struct As<T, typename std::enable_if<std::is_floating_point<T>::value>::type> {
    static void read(Reader& in, T& to) {
        if (!std::strchr("-0123456789NI", in.peek())) in.unfit("a number");
        to = T(std::strtold(in.number().c_str(), nullptr));
    }
    static void write(Writer& out, T value) {
        if (std::isnan(value)) return out.put("NaN");
        if (std::isinf(value)) return out.put(value < 0 ? "-Infinity" : "Infinity");
        char text[64];
        std::snprintf(text, sizeof text, "%.17Lg", (long double)value);
        out.put(std::strpbrk(text, ".e") ? text : std::string(text) + ".0");
    }
};

template <> struct As<std::string> {
    static void read(Reader& in, std::string& to) { to = in.string("a string"); }
    static void write(Writer& out, const std::string& value) { out.string(value); }
};

#if __cplusplus >= 201703L
template <> struct As<std::string_view> {
    // What it looks at stays until the end.
    static void read(Reader& in, std::string_view& to) { to = *new std::string(in.string("a string")); }
    static void write(Writer& out, std::string_view value) { out.string(std::string(value)); }
};
#endif

template <class C> void write_list(Writer& out, const C& values) {
    bool first = true;
    out.put("[");
    for (const auto& value : values) {
        if (!first) out.put(",");
        first = false;
        As<typename C::value_type>::write(out, value);
    }
    out.put("]");
}

template <class C> struct Sequence {
    static void read(Reader& in, C& to) {
        in.open('[', "a list");
        to.clear();
        for (bool first = true; in.more(first, ']'); first = false) {
            typename C::value_type item{};
            As<typename C::value_type>::read(in, item);
            to.insert(to.end(), std::move(item));
        }
    }
    static void write(Writer& out, const C& values) { write_list(out, values); }
};
template <class C> struct Unordered : Sequence<C> {
    static void write(Writer&, const C&) { throw NotPlain{"a set without an order; return a vector"}; }
};
template <class T, class A> struct As<std::vector<T, A>> : Sequence<std::vector<T, A>> {};
template <class T, class A> struct As<std::deque<T, A>> : Sequence<std::deque<T, A>> {};
template <class T, class A> struct As<std::list<T, A>> : Sequence<std::list<T, A>> {};
template <class T, class L, class A> struct As<std::set<T, L, A>> : Sequence<std::set<T, L, A>> {};
template <class T, class L, class A> struct As<std::multiset<T, L, A>> : Sequence<std::multiset<T, L, A>> {};
template <class T, class H, class E, class A> struct As<std::unordered_set<T, H, E, A>> : Unordered<std::unordered_set<T, H, E, A>> {};

template <class T, std::size_t N> struct As<std::array<T, N>> {
    static void read(Reader& in, std::array<T, N>& to) {
        std::vector<T> all;
        As<std::vector<T>>::read(in, all);
        if (all.size() != N) throw Unfit{"it gives " + std::to_string(all.size()) + " items for " + std::to_string(N)};
        std::copy(all.begin(), all.end(), to.begin());
    }
    static void write(Writer& out, const std::array<T, N>& values) { write_list(out, values); }
};

// Keys are strings in JSON: what is in them is read as the key's own type.
template <class K> struct Key {
    static void read(const std::string& text, K& to) { Reader in(text); As<K>::read(in, to); }
    static void write(Writer& out, const K& key) {
        Writer text;
        As<K>::write(text, key);
        out.string(text.all());
    }
};
template <> struct Key<std::string> {
    static void read(const std::string& text, std::string& to) { to = text; }
    static void write(Writer& out, const std::string& key) { out.string(key); }
};
template <> struct Key<char> {
    static void read(const std::string& text, char& to) {
        if (text.size() != 1) throw Unfit{"it gives a key of " + std::to_string(text.size()) + " bytes for a char"};
        to = text[0];
    }
    static void write(Writer& out, char key) { out.string(std::string(1, key)); }
};

template <class M> struct Mapping {
    static void read(Reader& in, M& to) {
        in.open('{', "an object");
        to.clear();
        for (bool first = true; in.more(first, '}'); first = false) {
            typename M::key_type key{};
            Key<typename M::key_type>::read(in.string("a key"), key);
            in.take(':');
            As<typename M::mapped_type>::read(in, to[key]);
        }
    }
    static void write(Writer& out, const M& values) {
        bool first = true;
        out.put("{");
        for (const auto& pair : values) {
            if (!first) out.put(",");
            first = false;
            Key<typename M::key_type>::write(out, pair.first);
            out.put(":");
            As<typename M::mapped_type>::write(out, pair.second);
        }
        out.put("}");
    }
};
template <class K, class V, class L, class A> struct As<std::map<K, V, L, A>> : Mapping<std::map<K, V, L, A>> {};
template <class K, class V, class H, class E, class A>
struct As<std::unordered_map<K, V, H, E, A>> : Mapping<std::unordered_map<K, V, H, E, A>> {};

template <std::size_t I, class T> struct Tail {
    static void read(Reader& in, T& to) {
        Tail<I - 1, T>::read(in, to);
        if (!in.more(I == 1, ']')) throw Unfit{"it gives too short a list for a pair or tuple"};
        As<typename std::tuple_element<I - 1, T>::type>::read(in, std::get<I - 1>(to));
    }
    static void write(Writer& out, const T& value) {
        Tail<I - 1, T>::write(out, value);
        if (I > 1) out.put(",");
        As<typename std::tuple_element<I - 1, T>::type>::write(out, std::get<I - 1>(value));
    }
};
template <class T> struct Tail<0, T> {
    static void read(Reader&, T&) {}
    static void write(Writer&, const T&) {}
};
template <class T> struct Tuple {
    static void read(Reader& in, T& to) {
        in.open('[', "a pair or tuple");
        Tail<std::tuple_size<T>::value, T>::read(in, to);
        if (!in.take(']')) throw Unfit{"it gives too long a list for a pair or tuple"};
    }
    static void write(Writer& out, const T& value) {
        out.put("[");
        Tail<std::tuple_size<T>::value, T>::write(out, value);
        out.put("]");
    }
};
template <class A, class B> struct As<std::pair<A, B>> : Tuple<std::pair<A, B>> {};
template <class... T> struct As<std::tuple<T...>> : Tuple<std::tuple<T...>> {};

#if __cplusplus >= 201703L
template <class T> struct As<std::optional<T>> {
    static void read(Reader& in, std::optional<T>& to) {
        if (in.null()) to.reset();
        else As<T>::read(in, to.emplace());
    }
    static void write(Writer& out, const std::optional<T>& value) {
        if (value) As<T>::write(out, *value);
        else out.put("null");
    }
};
#endif

// ------------------------------------------------------------ linked lists and trees

template <class T, class = void> struct IsTree : std::false_type {};
template <class T>
struct IsTree<T, typename Void<decltype(std::declval<T&>().val), decltype(std::declval<T&>().left), decltype(std::declval<T&>().right)>::type> : std::true_type {};
template <class T, class = void> struct IsList : std::false_type {};
template <class T>
struct IsList<T, typename Void<decltype(std::declval<T&>().val), decltype(std::declval<T&>().next)>::type> : std::integral_constant<bool, !IsTree<T>::value> {};

// Some have a constructor that takes the value, and no other; some have none at all.
template <class T, class V> T* node_of(const V& value, std::true_type) { return new T(value); }
template <class T, class V> T* node_of(const V& value, std::false_type) {
    T* made = new T();
    made->val = value;
    return made;
}
template <class T> T* node(Reader& in) {
    typedef typename std::decay<decltype(std::declval<T&>().val)>::type V;
    V value{};
    As<V>::read(in, value);
    return node_of<T, V>(value, std::is_constructible<T, const V&>());
}

template <class T> struct As<T*, typename std::enable_if<IsList<T>::value>::type> {
    static void read(Reader& in, T*& to) {
        to = nullptr;
        if (in.null()) return;
        in.open('[', "a linked list");
        T** place = &to;
        for (bool first = true; in.more(first, ']'); first = false) {
            *place = node<T>(in);
            (*place)->next = nullptr;
            place = &(*place)->next;
        }
    }
    static void write(Writer& out, T* const& value) {
        std::size_t nodes = 0;
        out.put("[");
        for (T* at = value; at; at = at->next) {
            if (++nodes > MAX_NODES) throw NotPlain{"a linked list without an end"};
            if (nodes > 1) out.put(",");
            As<typename std::decay<decltype(at->val)>::type>::write(out, at->val);
        }
        out.put("]");
    }
};

template <class T> struct As<T*, typename std::enable_if<IsTree<T>::value>::type> {
    static void read(Reader& in, T*& to) {
        to = nullptr;
        if (in.null()) return;
        in.open('[', "a tree");
        std::deque<T**> places(1, &to);
        for (bool first = true; in.more(first, ']'); first = false) {
            if (places.empty()) {
                if (in.null()) continue;
                throw Unfit{"it gives a tree with a value below no node"};
            }
            T** place = places.front();
            places.pop_front();
            if (in.null()) continue;
            *place = node<T>(in);
            (*place)->left = (*place)->right = nullptr;
            places.push_back(&(*place)->left);
            places.push_back(&(*place)->right);
        }
    }
    static void write(Writer& out, T* const& value) {
        std::vector<T*> nodes(1, value);
        for (std::size_t i = 0; i < nodes.size(); i++) {
            if (nodes.size() > MAX_NODES) throw NotPlain{"a tree without an end"};
            if (T* at = nodes[i]) { nodes.push_back(at->left); nodes.push_back(at->right); }
        }
        while (!nodes.empty() && !nodes.back()) nodes.pop_back();
        out.put("[");
        for (std::size_t i = 0; i < nodes.size(); i++) {
            if (i) out.put(",");
            if (nodes[i]) As<typename std::decay<decltype(value->val)>::type>::write(out, nodes[i]->val);
            else out.put("null");
        }
        out.put("]");
    }
};

// ------------------------------------------------------------ the call

template <std::size_t...> struct Numbers {};
template <std::size_t N, std::size_t... I> struct UpTo : UpTo<N - 1, N - 1, I...> {};
template <std::size_t... I> struct UpTo<0, I...> { typedef Numbers<I...> type; };

template <class R, class... A> struct Call {
    typedef std::tuple<typename std::decay<A>::type...> Store;
    typedef typename UpTo<sizeof...(A)>::type All;

    template <class T> static int one(Reader& in, std::size_t at, T& to) {
        in.more(at == 0, ']');
        try { As<T>::read(in, to); }
        catch (Unfit& e) { throw Unfit{"the test does not fit: argument " + std::to_string(at + 1) + ": " + e.why}; }
        return 0;
    }
    template <std::size_t... I> static void read(Reader& in, Store& store, Numbers<I...>) {
        int done[] = {0, one(in, I, std::get<I>(store))...};
        (void)done;
    }
    template <class F, std::size_t... I>
    static void call(F& f, Store& store, Writer& out, Numbers<I...>, std::false_type) {
        (void)store;
        typename std::decay<R>::type value = f(static_cast<A&&>(std::get<I>(store))...);
        out.put("{\"ok\":true,\"value\":");
        As<decltype(value)>::write(out, value);
        out.put("}");
    }
    template <class F, std::size_t... I>
    static void call(F& f, Store& store, Writer& out, Numbers<I...>, std::true_type) {
        f(static_cast<A&&>(std::get<I>(store))...);
        out.put("{\"ok\":true,\"value\":null");
        in_place<A...>(out, store);
        out.put("}");
    }
    template <class First, class...>
    static typename std::enable_if<std::is_reference<First>::value || std::is_pointer<First>::value>::type
    in_place(Writer& out, Store& store) {
        Writer value;
        try { As<typename std::decay<First>::type>::write(value, std::get<0>(store)); }
        catch (NotPlain&) { return; }
        out.put(",\"in_place\":");
        out.put(value.all());
    }
    template <class First, class...>
    static typename std::enable_if<!std::is_reference<First>::value && !std::is_pointer<First>::value>::type
    in_place(Writer&, Store&) {}
    template <class... None>
    static typename std::enable_if<sizeof...(None) == 0>::type in_place(Writer&, Store&) {}

    template <class F> static void of(F f, const std::string& text, Writer& out) {
        Reader in(text);
        std::size_t given = in.count();
        if (given != sizeof...(A))
            throw Unfit{"the function takes " + std::to_string(sizeof...(A)) + " arguments, the test gives " + std::to_string(given)};
        Store store{};
        in.open('[', "the arguments");
        read(in, store, All());
        call(f, store, out, All(), std::is_void<R>());
    }
};

template <class R, class C, class M> struct Method {
    M method;
    C* object;
    template <class... T> R operator()(T&&... arguments) { return (object->*method)(std::forward<T>(arguments)...); }
};

inline int leave(int fd, const std::string& record) {
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
    for (std::size_t done = 0; done < record.size();) {
        ssize_t n = ::write(fd, record.data() + done, record.size() - done);
        if (n <= 0) break;
        done += std::size_t(n);
    }
    _exit(0);  // what the answer has made is not taken apart
}

inline std::string failure(const char* kind, const std::string& error) {
    Writer out;
    out.put(std::string("{\"ok\":false,\"kind\":\"") + kind + "\",\"error\":");
    out.string(error.substr(0, 600));
    out.put("}");
    return out.all();
}

template <class Do> int guarded(char** paths, Do act) {
    int channel = ::open(paths[2], O_WRONLY | O_CLOEXEC);
    std::string text;
    {
        int fd = ::open(paths[1], O_RDONLY | O_CLOEXEC);
        char part[65536];
        for (ssize_t n; fd >= 0 && (n = ::read(fd, part, sizeof part)) > 0;) text.append(part, std::size_t(n));
        if (fd >= 0) ::close(fd);
    }
    Writer out;
    try {
        act(text, out);
        return leave(channel, out.all());
    } catch (Unfit& e) {
        std::cerr << e.why << std::endl;
        return leave(channel, failure("raised", e.why));
    } catch (NotPlain& e) {
        return leave(channel, failure("unserializable", e.why));
    } catch (std::exception& e) {
        int status = 0;
        char* name = abi::__cxa_demangle(typeid(e).name(), nullptr, nullptr, &status);
        std::string error = std::string(name ? name : "std::exception") + ": " + e.what();
        std::cerr << "uncaught " << error << std::endl;
        return leave(channel, failure("raised", error));
    } catch (...) {
        std::cerr << "uncaught exception" << std::endl;
        return leave(channel, failure("raised", "an exception that is no std::exception"));
    }
}

template <class R, class C, class M, class... A> int method(M m, char** paths) {
    return guarded(paths, [m](const std::string& text, Writer& out) {
        Method<R, C, M> bound = {m, new C()};
        Call<R, A...>::of(bound, text, out);
    });
}
template <class R, class... A> int function(R (*f)(A...), char** paths) {
    return guarded(paths, [f](const std::string& text, Writer& out) { Call<R, A...>::of(f, text, out); });
}

// The function, whatever it takes. Of several with one name, the overloads that the source beside
// this one has for the test's number of arguments find the right one.
template <class R, class C, class... A> int enter(R (C::*f)(A...), char** paths) {
    return method<R, C, decltype(f), A...>(f, paths);
}
template <class R, class C, class... A> int enter(R (C::*f)(A...) const, char** paths) {
    return method<R, C, decltype(f), A...>(f, paths);
}
template <class R, class... A> int enter(R (*f)(A...), char** paths) { return function(f, paths); }

inline int missing(const char* name, char** paths) {
    int channel = ::open(paths[2], O_WRONLY | O_CLOEXEC);
    return leave(channel, failure("no_entry_point", std::string("there is no function ") + name));
}

}  // namespace verifier_call
