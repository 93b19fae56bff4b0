// A listener of JUnit's that writes one record a test; see run.py. Loaded with the launcher, before
// any class of the program.
package verifier.report;

import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

public final class Report implements TestExecutionListener {
    private static final String NONCE;
    private static final OutputStream OUT;
    private final Map<String, Long> started = new ConcurrentHashMap<>();

    static {
        try (FileInputStream in = new FileInputStream("/proc/self/fd/8")) {
            byte[] nonce = new byte[64]; // not readAllBytes, which seeks
            NONCE = new String(nonce, 0, in.read(nonce), StandardCharsets.US_ASCII);
            OUT = new FileOutputStream("/proc/self/fd/9");
        } catch (IOException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    @Override
    public void executionStarted(TestIdentifier id) {
        started.put(id.getUniqueId(), System.nanoTime());
    }

    @Override
    public void executionSkipped(TestIdentifier id, String reason) {
        say(id, "skipped", reason, 0);
    }

    @Override
    public void executionFinished(TestIdentifier id, TestExecutionResult result) {
        long began = started.getOrDefault(id.getUniqueId(), System.nanoTime());
        double seconds = (System.nanoTime() - began) / 1e9;
        Optional<Throwable> thrown = result.getThrowable();
        String message = thrown.map(Throwable::toString).orElse("");
        if (result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
            if (id.isTest()) {
                say(id, "passed", "", seconds);
            }
        } else if (result.getStatus() == TestExecutionResult.Status.ABORTED) {
            say(id, "skipped", message, seconds);
        } else {
            boolean asserts = thrown.isPresent() && thrown.get() instanceof AssertionError;
            say(id, asserts ? "failed" : "error", message, seconds);
        }
    }

    private static void say(TestIdentifier id, String status, String message, double seconds) {
        TestSource source = id.getSource().orElse(null);
        String name;
        if (source instanceof MethodSource) {
            MethodSource method = (MethodSource) source;
            name = method.getClassName() + "." + method.getMethodName();
        } else if (source instanceof ClassSource) {
            name = ((ClassSource) source).getClassName();
        } else {
            name = id.getDisplayName();
        }
        String kind = id.isTest() || source instanceof MethodSource ? "name" : "container";
        String head = message == null ? "" : message.substring(0, Math.min(message.length(), 4000));
        String line = NONCE + "{\"" + kind + "\":" + quoted(name) + ",\"status\":\"" + status
            + "\",\"seconds\":" + seconds + ",\"message\":" + quoted(head) + "}\n";
        synchronized (OUT) {
            try {
                OUT.write(line.getBytes(StandardCharsets.US_ASCII));
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static String quoted(String text) {
        StringBuilder made = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\' || c < ' ' || c > '~') {
                made.append(String.format("\\u%04x", (int) c));
            } else {
                made.append(c);
            }
        }
        return made.append('"').toString();
    }
}
