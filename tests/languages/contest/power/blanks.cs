using System;

static class Program
{
    static long modulus;

    static long Power(long number, int times)
    {
        long result = 1 % modulus;
        while (times-- > 0) result = result * number % modulus;
        return result;
    }

    static void Main()
    {
        var words = Console.ReadLine().Split(' ');
        modulus = long.Parse(words[2]);
        long number = long.Parse(words[0]) % modulus, answer = 1 % modulus;
        foreach (char digit in words[1])
            answer = Power(answer, 10) * Power(number, digit - '0') % modulus;
        Console.Write(answer + " \r\n\n");
    }
}
