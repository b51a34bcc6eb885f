/* The work of peers.c on two timers of the JDK: ScheduledThreadPoolExecutor, and from JDK 25 on the
 * DelayScheduler of ForkJoinPool. A re-arm is a cancel and an add. One sample a line.
 *
 *     java Timers.java N,N,... ROUNDS SEED
 */
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;

final class Timers {
    /* Rounds before the measured ones, in which the JDK compiles. */
    private static final int WARM_UP = 5;

    private static void fail(String what) {
        System.err.println("Timers.java: " + what);
        System.exit(1);
    }

    /* Each timer of a sample fires once, and not early. */
    private static void verify(String peer, ScheduledExecutorService timers, Random random) throws InterruptedException {
        int sample = 200;
        CountDownLatch left = new CountDownLatch(sample);
        AtomicIntegerArray fired = new AtomicIntegerArray(sample);
        for (int i = 0; i < sample; i++) {
            int at = i;
            long delay = 1 + random.nextInt(20), begun = System.nanoTime();
            timers.schedule(() -> {
                if (System.nanoTime() - begun < delay * 1_000_000)
                    fail(peer + ": a timer was early");
                if (fired.incrementAndGet(at) != 1)
                    fail(peer + ": a timer fired twice");
                left.countDown();
            }, delay, TimeUnit.MILLISECONDS);
        }
        if (!left.await(60, TimeUnit.SECONDS))
            fail(peer + ": not every timer fired");
    }

    private static void say(String peer, int n, int round, String operation, long ns) {
        if (round >= 0)
            System.out.printf(java.util.Locale.ROOT,
                "{ \"peer\": \"%s\", \"n\": %d, \"round\": %d, \"clock\": \"each call\", \"lock\": true, \"operation\": \"%s\", \"ns_per_operation\": %.2f }%n",
                peer, n, round, operation, (double) ns / n);
    }

    private static void measure(String peer, ScheduledExecutorService timers, int n, int round, long[] delays, long[] later, int[] order) {
        Future<?>[] all = new Future<?>[n];
        Runnable nothing = () -> { };
        long begun = System.nanoTime();
        for (int i = 0; i < n; i++)
            all[i] = timers.schedule(nothing, delays[i], TimeUnit.MILLISECONDS);
        long added = System.nanoTime();
        int cancelled = 0;
        for (int i = 0; i < n; i++) {
            int at = order[i];
            cancelled += all[at].cancel(false) ? 1 : 0;
            all[at] = timers.schedule(nothing, later[i], TimeUnit.MILLISECONDS);
        }
        long rearmed = System.nanoTime();
        for (Future<?> timer : all)
            cancelled += timer.cancel(false) ? 1 : 0;
        long ended = System.nanoTime();
        if (cancelled != 2 * n)
            fail(peer + ": not all timers were armed");
        say(peer, n, round, "add", added - begun);
        say(peer, n, round, "rearm", rearmed - added);
        say(peer, n, round, "del", ended - rearmed);
    }

    private static void run(String peer, ScheduledExecutorService timers, String[] words) throws InterruptedException {
        Random random = new Random(Long.parseLong(words[2]));
        verify(peer, timers, random);
        for (String text : words[0].split(",")) {
            int n = Integer.parseInt(text);
            /* Longer than a round, so that no timer fires while it is measured. */
            long[] delays = random.longs(n, 60_000, 120_000).toArray(), later = random.longs(n, 60_000, 120_000).toArray();
            int[] order = new int[n];
            for (int i = 0; i < n; i++) {
                int other = random.nextInt(i + 1);
                order[i] = order[other];
                order[other] = i;
            }
            for (int round = -WARM_UP; round < Integer.parseInt(words[1]); round++)
                measure(peer, timers, n, round, delays, later, order);
        }
        timers.shutdownNow();
    }

    public static void main(String[] words) throws InterruptedException {
        if (words.length != 3)
            fail("usage: java Timers.java N,N,... ROUNDS SEED");
        ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1);
        executor.setRemoveOnCancelPolicy(true);
        run("jdk/ScheduledThreadPoolExecutor", executor, words);
        Object pool = new ForkJoinPool(1);
        if (pool instanceof ScheduledExecutorService)
            run("jdk/DelayScheduler", (ScheduledExecutorService) pool, words);
        else
            System.out.println("{ \"peer\": \"jdk/DelayScheduler\", \"why\": \"this JDK has none: JDK 25 has it in ForkJoinPool\" }");
        System.exit(0);
    }
}
