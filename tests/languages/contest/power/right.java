import java.util.Scanner;

class Main {
    static long modulus;

    static long power(long number, int times) {
        long result = 1 % modulus;
        while (times-- > 0) result = result * number % modulus;
        return result;
    }

    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        long base = in.nextLong();
        String exponent = in.next();
        modulus = in.nextLong();
        base %= modulus;
        long answer = 1 % modulus;
        for (char digit : exponent.toCharArray())
            answer = power(answer, 10) * power(base, digit - '0') % modulus;
        System.out.print(answer + "\n");
    }
}
