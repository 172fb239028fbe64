package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
)

const chainID = 1337

// devnode is the node and the producer of its blocks.
type devnode struct {
	cfg    config
	stack  *node.Node
	blocks *producer
	key    *ecdsa.PrivateKey
}

// banner is the line that the node prints when it is ready.
type banner struct {
	HTTP       string `json:"http"`
	WS         string `json:"ws"`
	ChainID    uint64 `json:"chain_id"`
	Account    string `json:"account"`
	PrivateKey string `json:"private_key"`
	MaxPending uint64 `json:"max_pending"`
}

func start(cfg config) (*devnode, error) {
	if cfg.verbose {
		log.SetDefault(log.NewLogger(log.NewTerminalHandlerWithLevel(os.Stderr, slog.LevelInfo, false)))
	}
	// The key is the same everywhere and no secret, so that it fits a chain that was kept.
	key, err := crypto.ToECDSA(crypto.Keccak256([]byte("conch-devnode")))
	if err != nil {
		return nil, err
	}
	nodeConfig, err := settings(cfg)
	if err != nil {
		return nil, err
	}
	stack, err := node.New(nodeConfig)
	if err != nil {
		return nil, fmt.Errorf("the node: %w", err)
	}
	d := &devnode{cfg: cfg, stack: stack, key: key}
	if err := d.open(); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *devnode) open() error {
	fills, err := newBurner()
	if err != nil {
		return err
	}
	chain, err := eth.New(d.stack, chainSettings(d.cfg, d.key, fills))
	if err != nil {
		return fmt.Errorf("the chain: %w", err)
	}
	d.blocks = &producer{eth: chain, finality: d.cfg.finality, burner: fills}
	d.stack.RegisterAPIs([]rpc.API{
		{Namespace: "eth", Service: filters.NewFilterAPI(filters.NewFilterSystem(chain.APIBackend, filters.Config{}))},
		{Namespace: "dev", Service: &devAPI{d.blocks}},
		{Namespace: "account", Service: &signerAPI{d.key}},
	})
	if err := d.stack.Start(); err != nil {
		return fmt.Errorf("start the node at %s: %w", d.cfg.listen, err)
	}
	return d.awaitIndex()
}

// awaitIndex waits until the node has indexed its transactions, which begins with the first
// block. Before that it does not answer for a transaction that it does not know.
func (d *devnode) awaitIndex() error {
	if d.blocks.eth.BlockChain().CurrentBlock().Number.Sign() == 0 {
		if _, err := d.blocks.mine(); err != nil {
			return err
		}
	}
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !d.blocks.eth.BlockChain().TxIndexDone() {
		select {
		case <-poll.C:
		case <-deadline.C:
			return errors.New("the node is still indexing its transactions after a minute")
		}
	}
	return nil
}

func (d *devnode) close() { _ = d.stack.Close() } // the stack logs its errors

func (d *devnode) ready() banner {
	return banner{
		HTTP: d.stack.HTTPEndpoint(), WS: d.stack.WSEndpoint(), ChainID: chainID,
		Account:    crypto.PubkeyToAddress(d.key.PublicKey).Hex(),
		PrivateKey: hexutil.Encode(crypto.FromECDSA(d.key)), MaxPending: d.cfg.pool,
	}
}

// run makes blocks at --block-time until ctx ends.
func (d *devnode) run(ctx context.Context) {
	if d.cfg.blockTime == 0 {
		<-ctx.Done()
		return
	}
	ticker := time.NewTicker(d.cfg.blockTime)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := d.blocks.tick(); err != nil {
				fmt.Fprintln(os.Stderr, "conch-devnode: a block was not made:", err)
			}
		}
	}
}

func settings(cfg config) (*node.Config, error) {
	host, port, err := net.SplitHostPort(cfg.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: use an address such as 127.0.0.1:8545: %w", cfg.listen, err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %s is not a port", cfg.listen, port)
	}
	modules := []string{"eth", "net", "web3", "txpool", "debug", "dev", "account"}
	c := node.DefaultConfig
	c.Name = "conch-devnode"
	c.DataDir = cfg.datadir
	if cfg.datadir == "" {
		// Without a folder the library makes one for keys, and leaves it behind when killed.
		c.KeyStoreDir = os.TempDir()
	}
	c.HTTPHost, c.HTTPPort, c.HTTPModules = host, int(number), modules
	c.WSHost, c.WSPort, c.WSModules = host, int(number), modules
	c.HTTPVirtualHosts = []string{"*"}
	c.IPCPath = ""
	c.P2P = p2p.Config{NoDiscovery: true, NoDial: true}
	c.UseLightweightKDF = true
	return &c, nil
}

// chainSettings returns the rules of the public chain as of now, and other limits of the pool. The
// library's development rules have the prices of future forks.
func chainSettings(cfg config, key *ecdsa.PrivateKey, fills burner) *ethconfig.Config {
	rules := *params.AllDevChainProtocolChanges
	rules.ChainID = big.NewInt(chainID)
	rules.AmsterdamTime, rules.BogotaTime = nil, nil
	alloc := core.SystemContractAllocs()
	million := new(big.Int).Mul(big.NewInt(1_000_000), big.NewInt(params.Ether))
	alloc[crypto.PubkeyToAddress(key.PublicKey)] = types.Account{Balance: million}
	alloc[fills.address()] = types.Account{Balance: new(big.Int).Mul(million, million)}

	c := ethconfig.Defaults
	c.NetworkId = chainID
	c.SyncMode = ethconfig.FullSync
	c.LogNoHistory = true
	c.DatabaseCache, c.TrieCleanCache, c.TrieDirtyCache, c.SnapshotCache = 16, 16, 64, 0
	if c.NoPruning = cfg.archive; cfg.archive {
		c.StateScheme = rawdb.HashScheme // the other one keeps no old state to build on
	}
	c.Miner.GasCeil = cfg.gasLimit
	c.Genesis = &core.Genesis{
		Config: &rules, GasLimit: cfg.gasLimit, Alloc: alloc, Difficulty: new(big.Int),
		BaseFee: big.NewInt(params.GWei), ExtraData: []byte("conch-devnode"),
	}
	c.TxPool.NoLocals = !cfg.journal
	c.TxPool.Rejournal = time.Second
	if cfg.pool > 0 {
		c.TxPool.AccountSlots, c.TxPool.GlobalSlots = cfg.pool, cfg.pool
		c.TxPool.AccountQueue, c.TxPool.GlobalQueue = cfg.pool, cfg.pool
	}
	return &c
}
