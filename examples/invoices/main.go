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
	err    error // why it is not paid, or not known to be
}

func main() {
	invoices := read()
	var running sync.WaitGroup
	for _, in := range invoices {
		running.Go(func() { in.err = pay(in) })
	}
	running.Wait()
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

// pay sends an invoice, and waits until nothing can change any more what became of it. What a node has stored will be
// done, whatever dies after that.
func pay(in *invoice) error {
	what := map[string]string{"account": os.Getenv("CONCH_ACCOUNT"), "to": in.to, "value": in.wei.String(), "idempotency_key": in.id}
	call, err := json.Marshal(what)
	if err != nil {
		return err
	}
	a, err := ask(http.MethodPost, "/v1/transactions", call)
	for id := a.ID; err == nil; a, err = ask(http.MethodGet, "/v1/transactions/"+id, nil) {
		switch {
		case a.Outcome == "succeeded":
			return nil
		case a.Outcome == "partly" || a.Outcome == "unknown":
			return fmt.Errorf("NOT KNOWN TO BE PAID: transaction %s is done, with the outcome %s: %s", id, a.Outcome, a.Hash)
		case a.Outcome != "":
			return fmt.Errorf("NOT PAID: transaction %s is %s: %s%s", id, a.Outcome, a.Why, a.Hash)
		}
		time.Sleep(2 * time.Second)
	}
	return err
}

// answer has what is needed of a node's answers, also of one that says no.
type answer struct {
	ID, Fate, Outcome, Why, Hash, Detail string
}

var (
	client = http.Client{Timeout: 10 * time.Second}
	few    = make(chan struct{}, 8) // a node refuses what is too much at once
	turn   atomic.Int64
)

// ask asks one node after the other until one says yes or no. After any doubt (no answer, half of one, a node that has
// too much to do or no database) the next one is asked the same: with the same key it is the same transaction.
func ask(method, path string, body []byte) (answer, error) {
	few <- struct{}{}
	defer func() { <-few }()
	nodes := strings.Split(os.Getenv("CONCH_NODES"), ",")
	for ; ; time.Sleep(500 * time.Millisecond) {
		url := nodes[turn.Add(1)%int64(len(nodes))] + path
		request, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(body))
		if err != nil {
			return answer{}, err
		}
		request.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + os.Getenv("CONCH_TOKEN")}}
		reply, err := client.Do(request)
		if err == nil {
			var a answer
			err = json.NewDecoder(reply.Body).Decode(&a)
			_ = reply.Body.Close()
			status := reply.StatusCode
			if status >= 300 {
				err = fmt.Errorf("%s: %s: %s", url, reply.Status, a.Detail)
			}
			switch {
			case err == nil:
				return a, nil
			case status/100 == 4 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests:
				return a, fmt.Errorf("NOT KNOWN TO BE PAID: %w", err) // an earlier request may have been heard
			}
		}
		log.Printf("%v: the next node is asked", err)
	}
}
