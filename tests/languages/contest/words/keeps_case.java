import java.io.IOException;
import java.util.*;

class Main {
    public static void main(String[] args) throws IOException {
        String text = new String(System.in.readAllBytes());
        Map<String, Integer> counts = new HashMap<>();
        for (String word : text.split("[^a-zA-Z]+"))
            if (!word.isEmpty()) counts.merge(word, 1, Integer::sum);
        List<String> order = new ArrayList<>(counts.keySet());
        order.sort(Comparator.comparing((String word) -> -counts.get(word))
            .thenComparing(Comparator.naturalOrder()));
        if (order.isEmpty()) System.out.println("none");
        for (String word : order.subList(0, Math.min(5, order.size())))
            System.out.println(word + " " + counts.get(word));
    }
}
