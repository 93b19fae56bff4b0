import java.util.Scanner;

class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int n = in.nextInt(), capacity = in.nextInt();
        long[] best = new long[capacity + 1];
        while (n-- > 0) {
            int weight = in.nextInt(), value = in.nextInt();
            for (int room = capacity; room >= weight; room--)
                best[room] = Math.max(best[room], best[room - weight] + value);
        }
        System.out.println(best[capacity]);
    }
}
