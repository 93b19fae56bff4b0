"""The targets of this project, measured: work by work, beside a floor and the peers, in one run.

    __main__    command line, and the run
    machine     what the figures belong to
    lab         options, and what rows share: yardsticks, gateways, peers
    floor       processes that run the same cases in the cheapest ways there are
    gateways    `verifier serve` as a process of its own, and what it costs
    prime       verl's prime_code, in the environment that verl is installed in
    peers       anything with a `/run_code`, and go-judge
    counting    a TCP proxy that counts bytes
    work        the programs, their inputs and outputs
    rows/       one function a row of the table
    rounds      round robin over contenders
    values      series, rows, verdicts
    report      text, JSON, Markdown

Everything is measured from outside, through the client and `verifier serve`.
"""
