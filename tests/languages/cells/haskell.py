"""Haskell."""

from tests.languages.cells.base import Cell, Cells, Kind
from verifier.types import Status

CELLS: Cells = {
    Kind.WRONG_ANSWER: "main = print 6",
    Kind.COMPILE_ERROR: "main = print x",
    Kind.EXIT_CODE: "import System.Exit\nmain = exitWith (ExitFailure 3)",
    Kind.CPU: """
spin :: Int -> Int
spin n = if n < 0 then n else spin ((n + 1) `mod` 1000)
main = print (spin 0)
""",
    Kind.SLEEP: "import Control.Concurrent\nmain = threadDelay 60000000",
    Kind.MEMORY: """
import qualified Data.ByteString as B
keep :: [B.ByteString] -> IO ()
keep kept = do
  let block = B.replicate 4194304 (fromIntegral (length kept))
  B.length block `seq` keep (block : kept)
main = keep []
""",
    Kind.FLOOD: "import Control.Monad\nmain = forever (putStrLn (replicate 1000 'x'))",
    Kind.BIG_STDIN: """
import qualified Data.ByteString.Char8 as B
main = do
  text <- B.getContents
  putStrLn (show (B.count '\\n' text) ++ " " ++ show (B.count 'x' text))
""",
    Kind.UNICODE: 'main = getLine >>= \\line -> putStrLn ("→" ++ line ++ "✓")',
    Kind.THREADS: """
import Control.Concurrent
import Control.Exception
import Control.Monad
main = do
  done <- forM [1 .. 4 :: Int] $ \\i -> do
    box <- newEmptyMVar
    _ <- forkIO (evaluate (sum [i .. 1000]) >>= putMVar box)
    return box
  results <- mapM takeMVar done
  print (length results)
""",
    Kind.RECURSION: """
depth :: Int -> Int
depth 0 = 0
depth n = 1 + depth (n - 1)
{-# NOINLINE depth #-}
main = print (depth 20000)
""",
    Kind.ENDLESS_RECURSION: Cell(
        "f :: Int -> Int\nf n = if n < 0 then 0 else 1 + f (n + 1)\nmain = print (f 0)",
        why="its stack is on the heap, which ends it",
        status=Status.MEMORY_LIMIT,
    ),
    Kind.FORBIDDEN: """
import Control.Exception
held :: FilePath -> IO String
held path = (readFile path >>= \\text -> length text `seq` return text) `catch` refused
  where refused e = let _ = e :: IOException in return ""
main = do
  text <- mapM held ["/etc/shadow", "/proc/1/environ"]
  putStrLn (if all null text then "refused" else concat text)
""",
}
