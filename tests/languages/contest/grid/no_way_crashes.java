import java.util.*;

class Main {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        int height = in.nextInt(), width = in.nextInt(), answer = -1;
        String[] rows = new String[height];
        int[][] steps = new int[height][width];
        Deque<int[]> queue = new ArrayDeque<>();
        for (int y = 0; y < height; y++) {
            rows[y] = in.next();
            Arrays.fill(steps[y], -1);
            int x = rows[y].indexOf('S');
            if (x >= 0) {
                steps[y][x] = 0;
                queue.add(new int[] {y, x});
            }
        }
        while (!queue.isEmpty() && answer < 0) {
            int[] place = queue.remove();
            int y = place[0], x = place[1];
            if (rows[y].charAt(x) == 'E') answer = steps[y][x];
            for (int[] d : new int[][] {{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
                int ny = y + d[0], nx = x + d[1];
                if (ny < 0 || ny >= height || nx < 0 || nx >= width) continue;
                if (rows[ny].charAt(nx) == '#' || steps[ny][nx] >= 0) continue;
                steps[ny][nx] = steps[y][x] + 1;
                queue.add(new int[] {ny, nx});
            }
        }
        if (answer < 0) throw new IllegalStateException("there is no way");
        System.out.println(answer);
    }
}
