import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** 200 threads that live at once, and a heap of N MB. */
public class Threads {
    public static void main(String[] args) throws InterruptedException {
        int megabytes = new Scanner(System.in).nextInt();
        List<byte[]> held = new ArrayList<>();
        for (int i = 0; i < megabytes; i++) {
            held.add(new byte[1 << 20]);
        }
        CountDownLatch all = new CountDownLatch(200);
        AtomicInteger sum = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            int mine = i;
            Thread thread = new Thread(() -> {
                all.countDown();
                try {
                    all.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                sum.addAndGet(mine);
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(sum.get() == 199 * 100 && held.size() == megabytes ? "True" : "False");
    }
}
