package substratetest

import (
	"encoding/json"
	"slices"
	"strings"

	"golang.org/x/crypto/blake2b"
)

// methods are those of the node. They are filled in init, since rpc_methods lists them.
var methods map[string]func(*query) any

func init() { //nolint:gochecknoinits // methods refers to itself
	methods = map[string]func(*query) any{
		"rpc_methods": func(q *query) any { return map[string]any{"methods": q.node().names()} },

		"chain_getBlockHash":            blockHash,
		"chain_getHead":                 blockHash,
		"chain_getHeader":               header,
		"chain_getBlock":                body,
		"chain_getFinalizedHead":        finalHead,
		"chain_getFinalisedHead":        finalHead,
		"chain_subscribeNewHeads":       subscribeHeads("chain_newHead"),
		"chain_subscribeNewHead":        subscribeHeads("chain_newHead"),
		"chain_subscribeAllHeads":       subscribeHeads("chain_allHead"),
		"chain_subscribeFinalizedHeads": subscribeHeads("chain_finalizedHead"),
		"chain_subscribeFinalisedHeads": subscribeHeads("chain_finalizedHead"),
		"chain_unsubscribeNewHeads":     unsubscribe("chain_newHead"),
		"chain_unsubscribeNewHead":      unsubscribe("chain_newHead"),
		"chain_unsubscribeAllHeads":     unsubscribe("chain_allHead"),
		"chain_unsubscribeFinalizedHeads": unsubscribe(
			"chain_finalizedHead"),
		"chain_unsubscribeFinalisedHeads": unsubscribe("chain_finalizedHead"),

		"state_getStorage":                storageAt,
		"state_getStorageHash":            storageHash,
		"state_getStorageSize":            storageSize,
		"state_getKeysPaged":              keysPaged,
		"state_queryStorageAt":            queryStorageAt,
		"state_getMetadata":               func(q *query) any { return hexed(q.node().metadata(q.state(0).runtime, metadataVersions[0])) },
		"state_getRuntimeVersion":         func(q *query) any { return q.node().versionOf(q.state(0).runtime) },
		"chain_getRuntimeVersion":         func(q *query) any { return q.node().versionOf(q.state(0).runtime) },
		"state_call":                      runtimeCall,
		"state_subscribeRuntimeVersion":   subscribeVersion,
		"state_unsubscribeRuntimeVersion": unsubscribe("state_runtimeVersion"),

		"author_submitExtrinsic":         submitExtrinsic,
		"author_submitAndWatchExtrinsic": submitAndWatch,
		"author_unwatchExtrinsic":        unsubscribe("author_extrinsicUpdate"),
		"author_pendingExtrinsics":       pendingExtrinsics,
		"author_removeExtrinsic":         removeExtrinsic,

		"system_health":           health,
		"system_chain":            func(q *query) any { return q.node().cfg.Name },
		"system_name":             func(*query) any { return specName },
		"system_version":          func(*query) any { return "1.0.0" },
		"system_properties":       properties,
		"system_syncState":        syncState,
		"system_accountNextIndex": nextIndex,
		"account_nextIndex":       nextIndex,
		"payment_queryInfo":       queryInfo,

		"archive_v1_body":            archiveBody,
		"archive_v1_header":          archiveHeader,
		"archive_v1_hashByHeight":    hashByHeight,
		"archive_v1_finalizedHeight": func(q *query) any { return q.view.final.number },
		"archive_v1_genesisHash":     func(q *query) any { return hexed(q.node().genesis.hash[:]) },
	}
}

// numberOf decodes a height: a number, or hex digits as in a header.
func (q *query) numberOf(raw json.RawMessage) (number uint64, ok bool) {
	if json.Unmarshal(raw, &number) == nil {
		return number, true
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return 0, false
	}
	digits, has := strings.CutPrefix(text, "0x")
	if !has || len(digits) == 0 || len(digits) > 16 {
		return 0, false
	}
	for _, d := range []byte(digits) {
		at := strings.IndexByte("0123456789abcdef", d|0x20)
		if d < '0' || at < 0 {
			return 0, false
		}
		number = number<<4 | uint64(at)
	}
	return number, true
}

// blockHash returns the hash of a height, of the head if none is given, or a list for a list.
func blockHash(q *query) any {
	if !q.given(0) {
		return hexed(q.view.head.hash[:])
	}
	var list []json.RawMessage
	if json.Unmarshal(q.params[0], &list) != nil {
		return q.hashAt(q.params[0])
	}
	hashes := make([]any, len(list))
	for i, raw := range list {
		hashes[i] = q.hashAt(raw)
	}
	return hashes
}

func (q *query) hashAt(raw json.RawMessage) any {
	number, ok := q.numberOf(raw)
	if !ok {
		q.fail(-32602, "Invalid params: not a height")
	}
	if !ok || number > uint64(q.view.head.number) {
		return nil
	}
	return hexed(q.node().best[number].hash[:])
}

func finalHead(q *query) any { return hexed(q.view.final.hash[:]) }

func header(q *query) any {
	if b := q.at(0); b != nil {
		return headerOf(b)
	}
	return nil
}

// headerOf returns a header as JSON has it.
func headerOf(b *block) any {
	logs := make([]string, len(b.logs))
	for i, l := range b.logs {
		logs[i] = hexed(l)
	}
	var parent [32]byte
	if b.up != nil {
		parent = b.up.hash
	}
	return map[string]any{
		"parentHash": hexed(parent[:]), "number": hexNumber(uint64(b.number)), "stateRoot": hexed(b.stateRoot[:]),
		"extrinsicsRoot": hexed(b.bodiesRoot[:]), "digest": map[string]any{"logs": logs},
	}
}

func body(q *query) any {
	b := q.at(0)
	if b == nil {
		return nil
	}
	return map[string]any{"block": map[string]any{"header": headerOf(b), "extrinsics": q.bodiesOf(b)}, "justifications": nil}
}

// bodiesOf returns the bodies of a block, or lies about them.
func (q *query) bodiesOf(b *block) []string {
	texts := []string{}
	for _, raw := range b.bodies() {
		texts = append(texts, hexed(raw))
	}
	if q.conn.endpoint.lies && len(texts) > 0 {
		last := slices.Clone(b.bodies()[len(texts)-1])
		last[len(last)-1] ^= 1
		texts[len(texts)-1] = hexed(last)
	}
	return texts
}

func subscribeHeads(kind string) func(*query) any {
	return func(q *query) any {
		first := q.view.head
		if kind == "chain_finalizedHead" {
			first = q.view.final
		}
		id, _ := q.subscribe(kind, headerOf(first))
		return id
	}
}

func unsubscribe(kind string) func(*query) any {
	return func(q *query) any { return q.unsubscribe(kind) }
}

func subscribeVersion(q *query) any {
	id, _ := q.subscribe("state_runtimeVersion", q.node().versionOf(q.view.head.runtime))
	return id
}

func storageAt(q *query) any {
	key, at := q.bytes(0), q.state(1)
	if value, has := at.state[string(key)]; has {
		return hexed(value)
	}
	return nil
}

func storageHash(q *query) any {
	key, at := q.bytes(0), q.state(1)
	if value, has := at.state[string(key)]; has {
		sum := blake2b.Sum256(value)
		return hexed(sum[:])
	}
	return nil
}

func storageSize(q *query) any {
	key, at := q.bytes(0), q.state(1)
	if value, has := at.state[string(key)]; has {
		return len(value)
	}
	return nil
}

func keysPaged(q *query) any {
	prefix := string(q.bytes(0))
	var count int
	q.arg(1, &count)
	if count < 0 || count > 1000 {
		q.fail(4002, "count exceeds maximum value. value: %d, max: 1000", count)
	}
	after := ""
	if q.given(2) {
		after = string(q.bytes(2))
	}
	keys := []string{}
	for key := range q.state(3).state {
		if strings.HasPrefix(key, prefix) && key > after {
			keys = append(keys, hexed([]byte(key)))
		}
	}
	slices.Sort(keys)
	return keys[:min(max(count, 0), len(keys))]
}

func queryStorageAt(q *query) any {
	var keys []string
	q.arg(0, &keys)
	at := q.state(1)
	changes := make([][2]any, len(keys))
	for i, text := range keys {
		changes[i][0] = text
		if value, has := at.state[string(q.unhex(text))]; has {
			changes[i][1] = hexed(value)
		}
	}
	return []any{map[string]any{"block": hexed(at.hash[:]), "changes": changes}}
}

// versionOf returns a RuntimeVersion as JSON has it.
func (n *Node) versionOf(r Runtime) any {
	return map[string]any{
		"specName": specName, "implName": specName, "authoringVersion": 1, "specVersion": r.Spec, "implVersion": 1,
		"apis": []any{}, "transactionVersion": r.Transaction, "stateVersion": systemVersion, "systemVersion": systemVersion,
	}
}

func health(q *query) any {
	return map[string]any{"peers": 1, "isSyncing": false, "shouldHavePeers": true}
}

func properties(q *query) any {
	return map[string]any{"ss58Format": q.node().cfg.SS58, "tokenDecimals": 12, "tokenSymbol": "UNIT", "isEthereum": q.node().cfg.Ethereum}
}

func syncState(q *query) any {
	return map[string]any{"startingBlock": 0, "currentBlock": q.view.head.number, "highestBlock": q.view.head.number}
}

func archiveBody(q *query) any {
	if b := q.view.block(q.hash(0)); b != nil {
		return q.bodiesOf(b)
	}
	return nil
}

func archiveHeader(q *query) any {
	if b := q.view.block(q.hash(0)); b != nil {
		return hexed(b.header)
	}
	return nil
}

func hashByHeight(q *query) any {
	var number uint64
	q.arg(0, &number)
	hashes := []string{}
	for hash, b := range q.node().known {
		onBest := number < uint64(len(q.node().best)) && q.node().best[number] == b
		if uint64(b.number) == number && q.view.block(hash) != nil && (onBest || number > uint64(q.view.final.number)) {
			hashes = append(hashes, hexed(hash[:]))
		}
	}
	slices.Sort(hashes)
	return hashes
}
