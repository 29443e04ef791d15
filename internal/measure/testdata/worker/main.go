// Command worker speaks the worker protocol as a test binary does. It burns
// processor time while it is idle, so that a missing freeze is seen.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

type request struct {
	Op         string `json:"op"`
	Name       string `json:"name"`
	Iterations int    `json:"iterations"`
}

func main() {
	fmt.Println("runs", os.Args[0], "padding", len(os.Getenv("ASSAY_PADDING")))
	requests, replies := bufio.NewReader(os.NewFile(3, "requests")), json.NewEncoder(os.NewFile(4, "replies"))
	send := func(reply map[string]any) {
		if err := replies.Encode(reply); err != nil {
			os.Exit(1)
		}
	}
	var busy atomic.Bool
	go func() {
		for {
			for begin := time.Now(); time.Since(begin) < 100*time.Microsecond && !busy.Load(); {
			}
			time.Sleep(200 * time.Microsecond)
		}
	}()
	send(map[string]any{"hello": "assay.worker/1", "procs": 1})
	for {
		line, err := requests.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			panic(err)
		}
		busy.Store(true)
		switch {
		case r.Op == "list":
			send(map[string]any{"progress": true, "name": "BenchmarkSpin"})
			send(map[string]any{"progress": true, "name": "BenchmarkExit"})
			fmt.Println("listing ends here")
			os.Exit(4)
		case r.Name == "BenchmarkHang":
			fmt.Println("hangs")
			select {}
		case r.Name == "BenchmarkExit":
			fmt.Println("says good-bye")
			os.Exit(3)
		case r.Name == "BenchmarkBabble":
			_, _ = fmt.Fprintln(os.NewFile(4, "replies"), "not JSON")
		default:
			send(spin(r))
		}
		busy.Store(false)
	}
}

func spin(r request) map[string]any {
	begin := time.Now()
	x := 0
	for i := range r.Iterations * 100 {
		x += i ^ x
	}
	took := max(time.Since(begin), 1)
	return map[string]any{
		"name": r.Name, "elapsed_ns": took, "wall_ns": took, "start_unix_ns": begin.UnixNano(), "cpu_ns": took, "procs": 1,
		"text": fmt.Sprintf("%s\t%d\t%d ns/op\t%d x/op", r.Name, r.Iterations, max(int(took)/r.Iterations, 1), x&1),
	}
}
