import java.io.*;

class Main {
    public static void main(String[] args) throws IOException {
        StreamTokenizer in = new StreamTokenizer(new BufferedReader(new InputStreamReader(System.in)));
        int n = next(in), q = next(in);
        long[] sums = new long[n + 1];
        for (int i = 1; i <= n; i++) sums[i] = sums[i - 1] + next(in);
        StringBuilder out = new StringBuilder();
        while (q-- > 0) {
            int left = next(in), right = next(in);
            out.append(sums[right] - sums[left - 1]).append("\n");
        }
        System.out.print(out);
    }

    static int next(StreamTokenizer in) throws IOException {
        in.nextToken();
        return (int) in.nval;
    }
}
