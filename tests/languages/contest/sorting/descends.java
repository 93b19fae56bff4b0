import java.io.*;
import java.util.*;

class Main {
    public static void main(String[] args) throws IOException {
        StreamTokenizer in = new StreamTokenizer(new BufferedReader(new InputStreamReader(System.in)));
        in.nextToken();
        List<Integer> numbers = new ArrayList<>();
        for (int n = (int) in.nval; n > 0; n--) {
            in.nextToken();
            numbers.add((int) in.nval);
        }
        numbers.sort(Comparator.reverseOrder());
        StringBuilder out = new StringBuilder();
        for (int number : numbers) out.append(number).append('\n');
        System.out.print(out);
    }
}
