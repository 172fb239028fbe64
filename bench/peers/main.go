// Command peers injects the same faults, in the same run, into conch and into other ways of electing
// a leader, and prints the results. See README.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/conchhq/conch/bench/peers/stage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "etcd" {
		flags := flag.NewFlagSet("etcd", flag.ExitOnError)
		dir, listen := flags.String("dir", "", "of its data"), flags.String("listen", "", "for clients")
		_ = flags.Parse(args[1:]) // exits on an error
		return serveEtcd(ctx, *dir, *listen)
	}
	return perform(ctx, args)
}

func perform(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("peers", flag.ExitOnError)
	cfg := stage.Config{Patience: 90 * time.Second, Rest: 20 * time.Second, Schemas: schemas()}
	flags.StringVar(&cfg.Conch, "conch", "", "the conch binary (required)")
	flags.StringVar(&cfg.Only, "only", "", "parts whose name holds this")
	flags.BoolVar(&cfg.Quick, "quick", false, "each fault once: to see that it runs, not to quote")
	markdown := flags.Bool("markdown", false, "print tables for a document, else JSON, one object a line")
	tables := flags.String("tables", "", "measure nothing: print the tables of this file of JSON lines")
	_ = flags.Parse(args) // exits on an error
	if *tables != "" {
		return printTables(*tables)
	}
	if cfg.Conch == "" {
		return fmt.Errorf("name the conch binary: peers --conch bin/conch; make bench-peers does")
	}
	var err error
	if cfg.Conch, err = filepath.Abs(cfg.Conch); err != nil {
		return err
	}
	if cfg.Self, err = os.Executable(); err != nil {
		return err
	}
	if cfg.Quick {
		cfg.Rest = 5 * time.Second
	}
	cfg.Say = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	results, err := stage.Run(ctx, cfg)
	if *markdown {
		fmt.Print(stage.Markdown(results))
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, r := range results {
		if fault := out.Encode(r); fault != nil {
			return fault
		}
	}
	return err
}

func printTables(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	var results []stage.Result
	for in := json.NewDecoder(file); in.More(); {
		var r stage.Result
		if err := in.Decode(&r); err != nil {
			return err
		}
		results = append(results, r)
	}
	fmt.Print(stage.Markdown(results))
	return nil
}
