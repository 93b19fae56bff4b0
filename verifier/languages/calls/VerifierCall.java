import java.io.FileOutputStream;
import java.io.IOException;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.*;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** Calls a method with arguments that are read from JSON, converted to what it declares. */
public class VerifierCall {
    static final int MAX_DEPTH = 200, MAX_CHARS = 64 << 20, MAX_NODES = 8 << 20;

    /** The arguments do not fit the method. */
    static class Unfit extends RuntimeException {
        Unfit(String why) { super(why); }
    }

    /** The result has no JSON. */
    static class NotPlain extends RuntimeException {
        NotPlain(String why) { super(why); }
    }

    static FileOutputStream channel;

    /** Words: the arguments' path, the channel's, and how the method may be spelled. */
    public static void main(String[] words) throws Throwable {
        channel = new FileOutputStream(words[1]);
        String text = new String(Files.readAllBytes(Paths.get(words[0])), StandardCharsets.UTF_8);
        try {
            leave(record(new Reader(text), Arrays.asList(words).subList(2, words.length)), 0);
        } catch (NotPlain e) {
            leave(failure("unserializable", e.getMessage()), 0);
        } catch (Unfit e) {
            System.err.println(e.getMessage());
            leave(failure("raised", e.getMessage()), 1);
        } catch (InvocationTargetException e) {
            Throwable cause = e.getCause();
            try {
                cause.printStackTrace();
            } catch (Throwable again) {
                System.err.println(cause.getClass().getName());
            }
            leave(failure("raised", said(cause)), 1);
        }
    }

    static String said(Throwable cause) {
        try {
            return cause.toString();
        } catch (Throwable again) {
            return cause.getClass().getName();
        }
    }

    static void leave(String record, int status) throws IOException {
        System.out.flush();
        System.err.flush();
        try {
            channel.write(record.getBytes(StandardCharsets.UTF_8));
        } finally {
            Runtime.getRuntime().halt(status);
        }
    }

    static String failure(String kind, String error) {
        StringBuilder out = new StringBuilder("{\"ok\":false,\"kind\":\"" + kind + "\",\"error\":");
        string(out, error == null ? "" : error.substring(0, Math.min(error.length(), 600)));
        return out.append('}').toString();
    }

    static String record(Reader in, List<String> names) throws Throwable {
        List<Method> methods = methods(names);
        if (methods.isEmpty()) {
            return failure("no_entry_point", "there is no function " + (names.isEmpty() ? "of that name" : names.get(0)));
        }
        List<?> given = (List<?>) in.value(0);
        Unfit unfit = null;
        for (Method method : methods) {
            if (method.getParameterCount() != given.size()) {
                if (unfit == null) {
                    unfit = new Unfit("the function takes " + method.getParameterCount() + " arguments, the test gives " + given.size());
                }
                continue;
            }
            Object[] arguments = new Object[given.size()];
            try {
                for (int i = 0; i < arguments.length; i++) {
                    try {
                        arguments[i] = converted(given.get(i), method.getGenericParameterTypes()[i]);
                    } catch (Unfit e) {
                        throw new Unfit("the test does not fit: argument " + (i + 1) + ": " + e.getMessage());
                    }
                }
            } catch (Unfit e) {
                unfit = e;
                continue;
            }
            Object owner = Modifier.isStatic(method.getModifiers()) ? null : made(method.getDeclaringClass());
            return answered(method, method.invoke(owner, arguments), arguments);
        }
        throw unfit;
    }

    static String answered(Method method, Object value, Object[] arguments) {
        StringBuilder out = new StringBuilder("{\"ok\":true,\"value\":");
        if (value == null && isNode(method.getReturnType())) value = new Object[0];
        write(out, value, 0);
        if (method.getReturnType() == void.class && arguments.length > 0) {
            out.append(",\"in_place\":");
            boolean none = arguments[0] == null && isNode(method.getParameterTypes()[0]);
            write(out, none ? new Object[0] : arguments[0], 0);
        }
        return out.append('}').toString();
    }

    static Object made(Class<?> type) throws Throwable {
        boolean inner = type.getEnclosingClass() != null && !Modifier.isStatic(type.getModifiers());
        Constructor<?> constructor = inner
            ? type.getDeclaredConstructor(type.getEnclosingClass())
            : type.getDeclaredConstructor();
        constructor.setAccessible(true);
        return inner ? constructor.newInstance(made(type.getEnclosingClass())) : constructor.newInstance();
    }

    /** Those of Solution, or static ones of any class of the answer; by the test's own spelling first. */
    static List<Method> methods(List<String> names) throws Exception {
        List<Class<?>> types = new ArrayList<>();
        try (JarFile jar = new JarFile(System.getProperty("java.class.path"))) {
            for (JarEntry entry : Collections.list(jar.entries())) {
                String name = entry.getName();
                if (!name.endsWith(".class") || name.startsWith("VerifierCall")) continue;
                Class<?> type = Class.forName(name.substring(0, name.length() - 6).replace('/', '.'), false, VerifierCall.class.getClassLoader());
                if (type.getSimpleName().equals("Solution")) types.add(0, type);
                else types.add(type);
            }
        }
        for (String name : names) {
            for (Class<?> type : types) {
                List<Method> found = new ArrayList<>();
                for (Method method : type.getDeclaredMethods()) {
                    boolean callable = type.getSimpleName().equals("Solution") || Modifier.isStatic(method.getModifiers());
                    if (!method.getName().equals(name) || !callable || method.isBridge()) continue;
                    method.setAccessible(true);
                    if (Modifier.isPublic(method.getModifiers())) found.add(0, method);
                    else found.add(method);
                }
                if (!found.isEmpty()) return found;
            }
        }
        return Collections.emptyList();
    }

    // ------------------------------------------------------------ from JSON to a declared type

    static Class<?> raw(Type type) {
        if (type instanceof Class) return (Class<?>) type;
        if (type instanceof ParameterizedType) return (Class<?>) ((ParameterizedType) type).getRawType();
        if (type instanceof GenericArrayType) {
            return Array.newInstance(raw(((GenericArrayType) type).getGenericComponentType()), 0).getClass();
        }
        if (type instanceof WildcardType) return raw(((WildcardType) type).getUpperBounds()[0]);
        return Object.class;
    }

    static Type parameter(Type type, int index) {
        return type instanceof ParameterizedType ? ((ParameterizedType) type).getActualTypeArguments()[index] : Object.class;
    }

    static Unfit unfit(Object value, Class<?> type) {
        String got = value == null ? "null" : value instanceof String ? "a string" : value instanceof List ? "a list"
            : value instanceof Map ? "an object" : value instanceof Boolean ? "a boolean" : "the number " + value;
        return new Unfit("it gives " + got.substring(0, Math.min(got.length(), 60)) + " for " + type.getSimpleName());
    }

    static Object converted(Object value, Type type) throws Throwable {
        Class<?> wanted = raw(type);
        if (isNode(wanted)) return node(value, wanted);
        if (value == null && !wanted.isPrimitive()) return wanted == Optional.class ? Optional.empty() : null;
        if (wanted == Optional.class) return Optional.of(converted(value, parameter(type, 0)));
        if (value instanceof Boolean && (wanted == boolean.class || wanted.isAssignableFrom(Boolean.class))) return value;
        if (value instanceof String) {
            String text = (String) value;
            if (wanted.isAssignableFrom(String.class)) return text;
            if ((wanted == char.class || wanted == Character.class) && text.length() == 1) return text.charAt(0);
        }
        if (value instanceof Number) return number((Number) value, wanted);
        if (value instanceof List) {
            List<?> items = (List<?>) value;
            if (wanted.isArray()) {
                Type item = type instanceof GenericArrayType ? ((GenericArrayType) type).getGenericComponentType() : wanted.getComponentType();
                Object array = Array.newInstance(wanted.getComponentType(), items.size());
                for (int i = 0; i < items.size(); i++) Array.set(array, i, converted(items.get(i), item));
                return array;
            }
            Collection<Object> made = collection(wanted);
            if (made != null) {
                for (Object item : items) made.add(converted(item, parameter(type, 0)));
                return made;
            }
        }
        if (value instanceof Map && (wanted.isAssignableFrom(TreeMap.class) || wanted.isAssignableFrom(LinkedHashMap.class))) {
            Map<Object, Object> made = wanted.isAssignableFrom(LinkedHashMap.class) ? new LinkedHashMap<>() : new TreeMap<>();
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                Class<?> key = raw(parameter(type, 0));
                Object plain = entry.getKey();
                boolean text = key.isAssignableFrom(String.class) || key == Character.class;
                made.put(converted(text ? plain : new Reader((String) plain).value(0), key), converted(entry.getValue(), parameter(type, 1)));
            }
            return made;
        }
        throw unfit(value, wanted);
    }

    static Collection<Object> collection(Class<?> wanted) {
        if (wanted.isAssignableFrom(ArrayList.class)) return new ArrayList<>();
        if (wanted.isAssignableFrom(LinkedHashSet.class)) return new LinkedHashSet<>();
        if (wanted.isAssignableFrom(TreeSet.class)) return new TreeSet<>();
        if (wanted.isAssignableFrom(LinkedList.class)) return new LinkedList<>();
        if (wanted.isAssignableFrom(ArrayDeque.class)) return new ArrayDeque<>();
        if (wanted.isAssignableFrom(PriorityQueue.class)) return new PriorityQueue<>();
        if (wanted.isAssignableFrom(Stack.class)) return new Stack<>();
        return null;
    }

    static Object number(Number value, Class<?> wanted) {
        if (wanted == double.class || wanted == Double.class) return value.doubleValue();
        if (wanted == float.class || wanted == Float.class) return value.floatValue();
        if (wanted == BigDecimal.class) return new BigDecimal(value.toString());
        if (wanted == Object.class || wanted == Number.class) {
            if (!(value instanceof BigInteger)) return value;
            int bits = ((BigInteger) value).bitLength();
            return bits < 32 ? (Number) value.intValue() : bits < 64 ? (Number) value.longValue() : value;
        }
        BigInteger exact;
        try {
            exact = value instanceof BigInteger ? (BigInteger) value : new BigDecimal(value.toString()).toBigIntegerExact();
            if (wanted == BigInteger.class) return exact;
            if (wanted == int.class || wanted == Integer.class) return exact.intValueExact();
            if (wanted == long.class || wanted == Long.class) return exact.longValueExact();
            if (wanted == short.class || wanted == Short.class) return exact.shortValueExact();
            if (wanted == byte.class || wanted == Byte.class) return exact.byteValueExact();
        } catch (ArithmeticException | NumberFormatException e) {
            throw unfit(value, wanted);
        }
        throw unfit(value, wanted);
    }

    // ------------------------------------------------------------ linked lists and trees

    static Field field(Class<?> type, String name) {
        for (Class<?> at = type; at != null && at != Object.class; at = at.getSuperclass()) {
            try {
                Field found = at.getDeclaredField(name);
                found.setAccessible(true);
                return found;
            } catch (NoSuchFieldException | RuntimeException e) {
                continue;
            }
        }
        return null;
    }

    static boolean isTree(Class<?> type) {
        return isOurs(type) && field(type, "val") != null && field(type, "left") != null && field(type, "right") != null;
    }

    static boolean isNode(Class<?> type) {
        return isTree(type) || (isOurs(type) && field(type, "val") != null && field(type, "next") != null);
    }

    static boolean isOurs(Class<?> type) {
        return !type.isPrimitive() && !type.isArray() && type.getClassLoader() == VerifierCall.class.getClassLoader();
    }

    static Object newNode(Class<?> type, Object value) throws Throwable {
        Object made = null;
        for (Constructor<?> constructor : type.getDeclaredConstructors()) {
            constructor.setAccessible(true);
            if (constructor.getParameterCount() == 0) {
                made = constructor.newInstance();
                break;
            }
            Class<?>[] takes = constructor.getParameterTypes();
            if (takes.length == 1 && !isOurs(takes[0])) made = constructor.newInstance(converted(value, takes[0]));
        }
        if (made == null) throw new Unfit("its " + type.getSimpleName() + " has no constructor without arguments or with the value");
        Field val = field(type, "val");
        val.set(made, converted(value, val.getGenericType()));
        return made;
    }

    static Object node(Object value, Class<?> type) throws Throwable {
        if (value == null) return null;
        if (!(value instanceof List)) throw unfit(value, type);
        List<?> items = (List<?>) value;
        if (!isTree(type)) {
            Object head = null;
            Field next = field(type, "next");
            for (int i = items.size() - 1; i >= 0; i--) {
                Object made = newNode(type, items.get(i));
                next.set(made, head);
                head = made;
            }
            return head;
        }
        if (items.isEmpty() || items.get(0) == null) return null;
        Field[] sides = {field(type, "left"), field(type, "right")};
        Object root = newNode(type, items.get(0));
        List<Object> parents = new ArrayList<>();
        parents.add(root);
        for (int i = 1; i < items.size(); i++) {
            if (items.get(i) == null) continue;
            if ((i - 1) / 2 >= parents.size()) throw new Unfit("it gives a tree with a value below no node");
            Object made = newNode(type, items.get(i));
            sides[(i - 1) % 2].set(parents.get((i - 1) / 2), made);
            parents.add(made);
        }
        return root;
    }

    static List<Object> values(Object node) {
        List<Object> found = new ArrayList<>();
        try {
            Class<?> type = node.getClass();
            Field val = field(type, "val");
            if (!isTree(type)) {
                Field next = field(type, "next");
                for (Object at = node; at != null; at = next.get(at)) {
                    if (found.size() >= MAX_NODES) throw new NotPlain("a linked list without an end");
                    found.add(val.get(at));
                }
                return found;
            }
            Field left = field(type, "left"), right = field(type, "right");
            List<Object> nodes = new ArrayList<>();
            nodes.add(node);
            for (int i = 0; i < nodes.size(); i++) {
                if (nodes.size() > MAX_NODES) throw new NotPlain("a tree without an end");
                Object at = nodes.get(i);
                found.add(at == null ? null : val.get(at));
                if (at == null) continue;
                nodes.add(left.get(at));
                nodes.add(right.get(at));
            }
            for (int i = nodes.size() - 1; i >= 0 && nodes.get(i) == null; i--) found.remove(i);
            return found;
        } catch (IllegalAccessException e) {
            throw new NotPlain(e.toString());
        }
    }

    // ------------------------------------------------------------ from a value to JSON

    static void write(StringBuilder out, Object value, int depth) {
        if (depth > MAX_DEPTH) throw new NotPlain("value is nested too deeply");
        if (out.length() > MAX_CHARS) throw new NotPlain("the value is too large");
        if (value == null || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Double || value instanceof Float) {
            out.append(value);  // NaN and Infinity too
        } else if (value instanceof Number) {
            out.append(value);
        } else if (value instanceof CharSequence || value instanceof Character) {
            string(out, value.toString());
        } else if (value.getClass().isArray()) {
            out.append('[');
            for (int i = 0; i < Array.getLength(value); i++) {
                if (i > 0) out.append(',');
                write(out, Array.get(value, i), depth + 1);
            }
            out.append(']');
        } else if (value instanceof Collection) {
            if (value instanceof HashSet && !(value instanceof LinkedHashSet)) {
                throw new NotPlain("a set has no order; return a list");
            }
            out.append('[');
            boolean first = true;
            for (Object item : (Collection<?>) value) {
                if (!first) out.append(',');
                first = false;
                write(out, item, depth + 1);
            }
            out.append(']');
        } else if (value instanceof Map) {
            out.append('{');
            boolean first = true;
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                if (!first) out.append(',');
                first = false;
                string(out, String.valueOf(entry.getKey()));
                out.append(':');
                write(out, entry.getValue(), depth + 1);
            }
            out.append('}');
        } else if (value instanceof Optional) {
            write(out, ((Optional<?>) value).orElse(null), depth + 1);
        } else if (isNode(value.getClass())) {
            write(out, values(value), depth + 1);
        } else {
            throw new NotPlain("a " + value.getClass().getName());
        }
    }

    static void string(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < 32 || c == '"' || c == '\\' || c > 126) out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        out.append('"');
    }

    /** JSON as lists, maps, strings, booleans, BigIntegers and doubles. It was checked before it came here. */
    static class Reader {
        final String text;
        int at = 0;

        Reader(String text) { this.text = text; }

        char peek() {
            while (at < text.length() && " \n\t\r,:".indexOf(text.charAt(at)) >= 0) at++;
            return at < text.length() ? text.charAt(at) : ']';
        }

        Object value(int depth) {
            char c = peek();
            if (c == '[') {
                List<Object> items = new ArrayList<>();
                for (at++; peek() != ']'; ) items.add(value(depth + 1));
                at++;
                return items;
            }
            if (c == '{') {
                Map<String, Object> made = new LinkedHashMap<>();
                for (at++; peek() != '}'; ) {
                    String key = string();
                    made.put(key, value(depth + 1));
                }
                at++;
                return made;
            }
            if (c == '"') return string();
            int begin = at;
            while (at < text.length() && ",]} \n\t\r:".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(begin, at);
            switch (word) {
                case "null": return null;
                case "true": return true;
                case "false": return false;
                default:
            }
            boolean whole = word.indexOf('.') < 0 && word.indexOf('e') < 0 && word.indexOf('E') < 0 && word.indexOf('N') < 0 && word.indexOf('I') < 0;
            try {
                return whole ? (Number) new BigInteger(word) : (Number) Double.valueOf(word);
            } catch (NumberFormatException e) {
                throw new Unfit("it gives what is no number: " + word.substring(0, Math.min(word.length(), 60)));
            }
        }

        String string() {
            StringBuilder found = new StringBuilder();
            for (at++; at < text.length() && text.charAt(at) != '"'; at++) {
                char c = text.charAt(at);
                if (c != '\\') {
                    found.append(c);
                    continue;
                }
                c = text.charAt(++at);
                if (c == 'u') {
                    found.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                    at += 4;
                } else {
                    int place = "bfnrt".indexOf(c);
                    found.append(place < 0 ? c : "\b\f\n\r\t".charAt(place));
                }
            }
            at++;
            return found.toString();
        }
    }
}
