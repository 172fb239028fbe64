// Invoices pays a list of invoices from one account of a chain, each exactly once, through any of several conch nodes.
// Kill it whenever you like, and start it again with the same list: the invoice's id is the idempotency key of its
// transaction, so what was sent before is not sent again, but followed to its end.
//
//	export CONCH_NODES=https://a.example:7070,https://b.example:7070 CONCH_ACCOUNT=payer CONCH_TOKEN=…
//	go run ./examples/invoices < invoices.csv     # in each line an id, an address, an amount in wei
package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"log"
	"math/big"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type invoice struct {
	id, to string
	wei    *big.Int
	tx     string // the id of its transaction, once a node has stored it
	err    error  // why it is not paid, or not known to be
}

// answer has what is needed of a node's answers, also of one that says no.
type answer struct {
	ID, Fate, Why, Hash, Detail string
	Failed                      bool
}

func main() {
	invoices := read()
	each(invoices, "sent", send) // what a node has stored will be done, whatever dies after that
	each(invoices, "settled", follow)
	n, paid, owed := 0, new(big.Int), new(big.Int)
	for _, in := range invoices {
		if owed.Add(owed, in.wei); in.err != nil {
			fmt.Printf("%s, %v wei to %s: %v\n", in.id, in.wei, in.to, in.err)
			continue
		}
		n, paid = n+1, paid.Add(paid, in.wei)
	}
	fmt.Printf("paid %d of %d invoices, %v of %v wei\n", n, len(invoices), paid, owed)
	if n < len(invoices) {
		os.Exit(1)
	}
}

// read refuses a list with any bad line. An invoice without an id would be paid anew by each run.
func read() (invoices []*invoice) {
	list := csv.NewReader(os.Stdin)
	list.FieldsPerRecord = 3
	lines, err := list.ReadAll()
	if err != nil {
		log.Fatal("nothing was sent: ", err)
	}
	known := map[string]bool{"": true}
	for _, line := range lines {
		wei, ok := new(big.Int).SetString(line[2], 10)
		if known[line[0]] || len(line[1]) != len("0x")+40 || !ok || wei.Sign() <= 0 {
			log.Fatalf("nothing was sent: %q is not an id of its own, an address, an amount in wei", line)
		}
		known[line[0]] = true
		invoices = append(invoices, &invoice{id: line[0], to: line[1], wei: wei})
	}
	return invoices
}

// each does a step for all invoices that have not failed, for a few at a time: a node refuses what is too much at once.
func each(invoices []*invoice, what string, step func(*invoice) error) {
	var running sync.WaitGroup
	var done atomic.Int64
	few := make(chan struct{}, 8)
	for _, in := range invoices {
		few <- struct{}{}
		running.Go(func() {
			defer func() { <-few }()
			if in.err != nil {
				return
			}
			if in.err = step(in); in.err == nil && done.Add(1)%50 == 0 {
				fmt.Println(done.Load(), what)
			}
		})
	}
	running.Wait()
	fmt.Println(done.Load(), "of", len(invoices), what)
}

func send(in *invoice) error {
	call, err := json.Marshal(map[string]string{
		"account": os.Getenv("CONCH_ACCOUNT"), "to": in.to, "value": in.wei.String(), "idempotency_key": in.id,
	})
	if err != nil {
		return err
	}
	a, err := ask(http.MethodPost, "/v1/transactions", call)
	in.tx = a.ID
	return err
}

// follow waits until nothing can change any more what became of an invoice.
func follow(in *invoice) error {
	for ; ; time.Sleep(time.Second) {
		a, err := ask(http.MethodGet, "/v1/transactions/"+in.tx, nil)
		switch {
		case err != nil || a.Fate == "done" && !a.Failed:
			return err
		case a.Fate == "done":
			return fmt.Errorf("NOT PAID: transaction %s is in the chain, and moved nothing", a.Hash)
		case a.Fate == "cancelled" || a.Fate == "rejected":
			return fmt.Errorf("NOT PAID: transaction %s is %s: %s", in.tx, a.Fate, a.Why)
		}
	}
}

var (
	client = http.Client{Timeout: 10 * time.Second}
	turn   atomic.Int64
)

// ask asks one node after the other until one says yes or no. After any doubt (no answer, half of one, a node that has
// too much to do or no database) the next one is asked the same: with the same key it is the same transaction.
func ask(method, path string, body []byte) (answer, error) {
	nodes := strings.Split(os.Getenv("CONCH_NODES"), ",")
	for {
		a, status, err := once(method, nodes[turn.Add(1)%int64(len(nodes))]+path, body)
		switch {
		case err == nil:
			return a, nil
		case status/100 == 4 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests:
			return a, fmt.Errorf("NOT KNOWN TO BE PAID: %w", err) // an earlier request may have been heard
		}
		log.Printf("%v: the next node is asked", err)
		time.Sleep(500 * time.Millisecond)
	}
}

func once(method, url string, body []byte) (a answer, status int, err error) {
	request, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(body))
	if err != nil {
		return a, 0, err
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + os.Getenv("CONCH_TOKEN")}}
	reply, err := client.Do(request)
	if err != nil {
		return a, 0, err
	}
	defer func() { _ = reply.Body.Close() }()
	err = json.NewDecoder(reply.Body).Decode(&a)
	if reply.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s: %s", url, reply.Status, a.Detail)
	}
	return a, reply.StatusCode, err
}
