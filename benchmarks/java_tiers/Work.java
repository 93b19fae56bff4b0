import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Random;

/** What contest programs spend their time on, some seconds of it at most; the argument says which. */
public class Work {
    static long matrix() {
        int n = 500;
        double[][] x = new double[n][n], y = new double[n][n], z = new double[n][n];
        for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { x[i][j] = i + j; y[i][j] = i - j; }
        for (int round = 0; round < 3; round++)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {
                    double sum = 0;
                    for (int k = 0; k < n; k++) sum += x[i][k] * y[k][j];
                    z[i][j] += sum;
                }
        return (long) z[3][4];
    }

    static long sieve() {
        int n = 10_000_000;
        long primes = 0;
        for (int round = 0; round < 10; round++) {
            boolean[] composite = new boolean[n + 1];
            for (int i = 2; i <= n; i++)
                if (!composite[i]) {
                    primes++;
                    for (long j = (long) i * i; j <= n; j += i) composite[(int) j] = true;
                }
        }
        return primes;
    }

    static long map() {
        HashMap<Integer, Integer> counts = new HashMap<>();
        for (int i = 0; i < 20_000_000; i++) counts.merge(i * 31 % 100_003, 1, Integer::sum);
        return counts.size();
    }

    static long partitions() {
        int n = 20_000;
        long[] ways = new long[n + 1];
        ways[0] = 1;
        for (int i = 1; i <= n; i++)
            for (int j = i; j <= n; j++) ways[j] = (ways[j] + ways[j - i]) % 1_000_000_007L;
        return ways[n];
    }

    static long sort() {
        List<Integer> numbers = new ArrayList<>();
        Random random = new Random(1);
        for (int i = 0; i < 2_000_000; i++) numbers.add(random.nextInt());
        Collections.sort(numbers);
        return numbers.get(5);
    }

    static long text() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 20_000_000; i++) text.append((char) ('a' + i % 26));
        long sum = 0;
        for (int i = 0; i < text.length(); i++) sum += text.charAt(i) * 31;
        return sum;
    }

    static long scanner() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 100_000; i++) text.append(i).append(' ');
        java.util.Scanner scanner = new java.util.Scanner(text.toString());
        long sum = 0;
        while (scanner.hasNextInt()) sum += scanner.nextInt();
        return sum;
    }

    public static void main(String[] words) {
        switch (words[0]) {
            case "matrix": System.out.println(matrix()); break;
            case "sieve": System.out.println(sieve()); break;
            case "map": System.out.println(map()); break;
            case "partitions": System.out.println(partitions()); break;
            case "sort": System.out.println(sort()); break;
            case "text": System.out.println(text()); break;
            case "scanner": System.out.println(scanner()); break;
            default: System.out.println(1);
        }
    }
}
