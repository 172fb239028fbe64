/*
 * How conch decides that a transaction has ended, from the answers of nodes that do not
 * agree: small enough to visit every state.
 *
 * Read README.md beside this file first. It says what is checked, how to run it, and which
 * rule each NO_… removes. The rules are W1, W2, W3 and W14 of docs/requirements.md, in parts.
 *
 * THE CHAIN has two branches from a common block 0. The surviving one, M, grows to TOP
 * blocks, and is all that counts in the end. The dead one, D, has DEAD blocks at most, and
 * some nodes stay on it for ever. Whatever was sent or signed may be in a block of both.
 *
 * ONE INTENT pays once. Its call is in transaction X, with nonce 0. Others with nonce 0:
 *   L  carries the intent's call too, but its row was lost, so conch does not know it
 *   F  conch's own filler, sent once a cancellation was asked for
 *   S  another holder of the key has signed it
 *   N  (UNSIGNED) a block lists it as the account's, but nobody signed it: it uses no nonce
 *   A  (COUNTS) no transaction: an authorization of the account uses nonce 0, and no block lists it
 * If S is final, the intent gets another nonce ("again"): Y carries its call with nonce 1.
 * With A it gets one as well: the counts say that nonce 0 is used, and a search finds nothing. A
 * count does not say what used it: a lie may have kept conch from seeing a transaction so far.
 *
 * AN ENDPOINT is several backends behind one address. Each answer comes from any of them,
 * and two items of one request may come from two. A backend is on M or on D, and two blocks
 * behind at most. It calls final what is DEPTH blocks below its own head.
 *
 * A LIE is one answer that is false in any way; there are LIES of them. It may say anything,
 * but nobody can forge a signature, nor make a block with the hash of another.
 *
 * CONCH follows one line of blocks, and knows its last final block. It finds a transaction
 * with its nonce in a block; links that block to the final block by parent hashes; asks a
 * second witness; proves a stranger's signature; and says an end. Whatever it knows, it may
 * find again elsewhere, so a crash and a new leader need no step of their own.
 *
 * WITH TWO there are two endpoints. The first has backends on both branches, and so has the
 * other unless it is OTHER_HONEST (on M), OTHER_BRANCH (on D) or OTHER_SILENT.
 *
 * WITH LIVE the faults end at some instant. Then everybody is on M, and each block is a round.
 *
 * BOUNDS: TOP and DEAD blocks, LIES lies, one stranger's transaction, no third nonce.
 *
 * ASSERTIONS
 *   paid_once   the intent's call is in the surviving chain once at most
 *   true_end    conch says "done" only if the surviving chain has the call, "cancelled" only if
 *               it never will
 *   decided     (LIVE) an end is said within PATIENCE blocks after the last fault
 */

#ifndef TOP
#define TOP 5
#endif
#ifndef DEAD
#define DEAD 2
#endif
#ifndef DEPTH
#define DEPTH 2
#endif
#ifndef LIES
#define LIES 0
#endif
#ifdef NO_MIN_DEPTH
#define MIN_DEPTH 0
#elif !defined(MIN_DEPTH)
#define MIN_DEPTH 2
#endif

mtype = { X, Y, L, F, S, N, A };

#define M 0
#define D 1
#define NAME(b) ((b) == M -> 'm' : 'd') /* blocks are m1, m2, d1 */

typedef Branch {
	unsigned height : 5;
	mtype    tx;         /* the transaction that used nonce 0; 0: none */
	unsigned at     : 5; /* its block */
	unsigned y      : 5; /* the block of Y; 0: none */
#ifdef UNSIGNED
	unsigned n      : 5; /* the block that lists N; 0: none */
#endif
};
Branch br[2];

typedef Conch {
	unsigned slot    : 1; /* the nonce that the intent has */
	unsigned cancel  : 1; /* a cancellation was asked for, and F was sent */
	unsigned end     : 2;
	unsigned line    : 1; /* the branch that is followed */
	unsigned final   : 5; /* the last final block of it; 0: none is known */
	mtype    tx;          /* the transaction found in a block; 0: none */
	unsigned on      : 1; /* its block: branch and height */
	unsigned at      : 5;
	unsigned first   : 5; /* the final block that its block was linked to; 0: none */
#ifdef LIVE
	unsigned refuted : 1; /* a second witness has differed about it */
#endif
#ifdef COUNTS
	unsigned counts  : 2; /* how many witnesses have counted, if tx is A; its block is that of the newest count */
#endif
#if LIES > 0
	unsigned bent    : 1; /* a lie is among the parent hashes that were linked */
	unsigned bent2   : 1; /* among those that the second witness linked */
#endif
#ifdef TWO
	unsigned finalBy : 1; /* the endpoint that named the final block */
	unsigned firstBy : 1; /* that of first */
#endif
};
Conch c;

#define OPEN      0
#define DONE      1
#define CANCELLED 2

byte lies;

#ifdef LIVE
bit calm; /* no more faults */
byte late; /* blocks since then */
#ifndef PATIENCE
#define PATIENCE 12
#endif
#define FAULTS (!calm)
#else
#define FAULTS true
#endif

/* ---- the assertions -------------------------------------------------------- */

#define PAYS(b)    (br[b].tx == X || br[b].tx == L)
#define paid_once  (!(PAYS(M) && br[M].y))
#ifdef TWICE /* ends are not judged: can it come to a second payment? */
#define true_done  true
#define true_never true
#else
#define true_done  (PAYS(M) || br[M].y)
#define true_never (br[M].tx == F || br[M].tx == S || br[M].tx == A)
#endif
#define decided    (late < PATIENCE)

/* A witness is a state that must be reachable, or the model proves nothing. */
#if defined(WITNESS_AGAIN) /* another nonce was right, and paid */
#define witness() assert(!(c.end == DONE && c.slot == 1))
#elif defined(WITNESS_VACANT) /* a nonce that no transaction used was given up, and the other one paid */
#define witness() assert(!(c.end == DONE && c.slot == 1 && br[M].tx == A))
#elif defined(WITNESS_CANCEL) /* a cancellation was right, though the dead branch has paid */
#define witness() assert(!(c.end == CANCELLED && PAYS(D)))
#else
#define witness() skip
#endif

/* ---- the chain ------------------------------------------------------------- */

#define ROOM(b) (br[b].height < ((b) == M -> TOP : DEAD))
#define GROWS(b) (FAULTS && c.end == OPEN && ROOM(b))

inline grow(b) { br[b].height = br[b].height + 1 }
inline include(b, t) {
	grow(b); br[b].tx = t; br[b].at = br[b].height;
	printf("chain: %c%d has %e\n", NAME(b), br[b].height, t);
	assert(paid_once)
}

active [2] proctype branch() {
	byte b = _pid;
	do
	:: d_step { GROWS(b) -> grow(b); printf("chain: %c%d has nothing of ours\n", NAME(b), br[b].height) }
	:: d_step { GROWS(b) && br[b].tx == 0 -> include(b, X) }
	:: d_step { GROWS(b) && br[b].tx == 0 -> include(b, L) }
	:: d_step { GROWS(b) && br[b].tx == 0 -> include(b, S) }
	:: d_step { GROWS(b) && br[b].tx == 0 && c.cancel -> include(b, F) }
#ifdef COUNTS
	:: d_step { GROWS(b) && br[b].tx == 0 -> include(b, A) }
#endif
	:: d_step { GROWS(b) && br[b].tx != 0 && c.slot == 1 && br[b].y == 0 ->
		grow(b); br[b].y = br[b].height;
		printf("chain: %c%d has Y\n", NAME(b), br[b].height);
		assert(paid_once) }
#ifdef UNSIGNED
	:: d_step { GROWS(b) && br[b].n == 0 ->
		grow(b); br[b].n = br[b].height;
		printf("chain: %c%d lists N, which nobody signed\n", NAME(b), br[b].height) }
#endif
	od
}

/* ---- conch: machine_proving.go and machine_slot.go of pending, chain/evm/confirm.go ----- */

/* Where endpoint e has backends. The first has them on both branches. */
#if !defined(TWO)
#define SERVES(e, b) ((b) == M || DEAD > 0)
#define WITNESSES(e) true
#define ANEW(e)      true
#elif defined(OTHER_HONEST)
#define SERVES(e, b) ((b) == M || (e) == 0)
#elif defined(OTHER_SILENT)
#define SERVES(e, b) ((e) == 0)
#elif defined(OTHER_BRANCH)
#define SERVES(e, b) ((e) == 0 || (b) == D)
#else
#define SERVES(e, b) true
#endif
#ifdef TWO
#ifdef OTHER_SILENT /* for ten minutes: conch is alone with the first */
#define WITNESSES(e) ((e) == 0)
#define ANEW(e)      true
#else
#define WITNESSES(e) ((e) != c.firstBy)
#define ANEW(e)      false
#endif
#endif
#ifdef NO_MOVED_ON
#define MOVED_ON(e, f) true
#else
#define MOVED_ON(e, f) (!ANEW(e) || (f) > c.first)
#endif

/* The final block as of a head at height n: the height that the backend calls final, and not
 * less than MIN_DEPTH below the head. Head and final block are two items, so they may be two
 * backends'; unless the one leads to the other, depth is measured from another branch. */
#define LESS(n, by) ((n) > (by) -> (n) - (by) : 0)
#define LOWER(p, q) ((p) < (q) -> (p) : (q))
#ifdef NO_FINAL_OF_HEAD
#define HEAD(e, b, n) (SERVES(e, 1 - (b)) && br[1 - (b)].height > n -> br[1 - (b)].height : n)
#else
#define HEAD(e, b, n) (n)
#endif
#define FINAL(e, b, n) LOWER(LESS(n, DEPTH), LESS(HEAD(e, b, n), MIN_DEPTH))

/* Whether parent hashes lead from branch b to the block of the transaction. Over a bent one
 * they lead to the other branch. */
#if defined(NO_LINKED)
#define LEADS(b, bent) true
#elif LIES > 0
#define LEADS(b, bent) ((c.on == (b)) != (bent))
#else
#define LEADS(b, bent) (c.on == (b))
#endif
#if LIES > 0 && !defined(NO_DENIED_ANEW)
#define DENIED(bent) bent = 0
#else
#define DENIED(bent) skip
#endif
#ifdef UNSIGNED
#define LISTS_N (c.tx == N && br[c.on].n == c.at)
#else
#define LISTS_N false
#endif
/* The block that the transaction was found in has it. */
#define HAS_IT (c.tx == Y && br[c.on].y == c.at || c.tx == br[c.on].tx && br[c.on].at == c.at || LISTS_N)
#ifdef NO_ASKED_ANEW
#define SEES_IT true
#else
#define SEES_IT (c.tx == A || HAS_IT)
#endif

inline unlink() {
	c.first = 0;
#ifdef TWO
	c.firstBy = 0
#endif
}
inline drop() {
	c.tx = 0; c.on = 0; c.at = 0;
#ifdef COUNTS
	c.counts = 0;
#endif
#ifdef LIVE
	c.refuted = 0;
#endif
	unlink()
}
#define FINDS (c.end == OPEN)
inline found(side, what, place) {
	drop();
	c.tx = what; c.on = side; c.at = place
}
inline follow(b) {
#ifdef COUNTS
	if :: c.tx == A -> drop() :: else fi; /* the block as of which it was counted has left the chain */
#endif
	c.line = b; c.final = 0;
	unlink();
#ifdef TWO
	c.finalBy = 0
#endif
}
#ifdef TWO
#define BY(endpoint) c.finalBy = endpoint
#else
#define BY(endpoint) skip
#endif
inline says(what) {
	drop();
	c.end = what; c.final = 0; c.line = 0
#ifdef TWO
	; c.finalBy = 0
#endif
}

/* ends says what the final transaction means. */
#ifdef NO_OWN_CALL
#define OWN(t) ((t) == X || (t) == Y)
#else
#define OWN(t) ((t) == X || (t) == Y || (t) == L)
#endif
#ifdef NO_PROVEN
#define PROVEN(t) true
#else
#define PROVEN(t) ((t) != N)
#endif
inline ends() {
	if
	:: !PROVEN(c.tx) -> printf("conch: nobody signed %e\n", c.tx); drop()
	:: PROVEN(c.tx) && OWN(c.tx) -> printf("conch: says done\n");
		assert(true_done);
		says(DONE)
	:: PROVEN(c.tx) && !OWN(c.tx) && c.cancel -> printf("conch: says cancelled\n");
		assert(true_never);
		says(CANCELLED)
	:: else -> printf("conch: nonce 0 is another's; signs Y with nonce 1\n");
		c.slot = 1;
		drop()
	fi;
	witness()
}

#ifdef COUNTS
#ifdef NO_SECOND_COUNT
#define ENOUGH 1
#else
#define ENOUGH 2
#endif
#define COUNTED (c.tx != A || c.counts >= ENOUGH)
inline counted() {
	c.counts = c.counts + 1; c.on = c.line; c.at = br[c.line].height;
	unlink()
}
/* gives_up searches once more, up to the final block. */
inline gives_up() {
#ifndef NO_SECOND_SEARCH
	if
	:: br[c.on].tx != A && br[c.on].tx != 0 -> printf("conch: a search finds %e in %c%d\n", br[c.on].tx, NAME(c.on), br[c.on].at);
		found(c.on, br[c.on].tx, br[c.on].at)
	:: else -> ends()
	fi
#else
	ends()
#endif
}
#define AGREED if :: c.tx == A -> gives_up() :: else -> ends() fi
#else
#define COUNTED true
#define AGREED ends()
#endif

inline link() {
	c.first = c.final;
#ifdef TWO
	c.firstBy = c.finalBy;
#endif
	printf("conch: block %c%d leads to the final block %c%d\n", NAME(c.on), c.at, NAME(c.line), c.first);
#ifdef COUNTS
#ifdef NO_COUNT_CONFIRMED
	if :: c.tx == A -> gives_up() :: else fi
#endif
#endif
#ifdef NO_SECOND_WITNESS
	ends()
#elif defined(NO_WITNESS_FOR_DONE)
	if
	:: c.tx == X || c.tx == Y -> ends()
	:: else
	fi
#endif
}

/* links asks for the parent hashes from the final block down. They are the same whichever
 * backend is asked. */
#define LINKS (c.tx != 0 && COUNTED && c.first == 0 && c.final >= c.at)
inline links() {
	if
	:: LEADS(c.line, c.bent) -> link()
	:: else -> printf("conch: block %c%d does not lead to the final block %c%d\n", NAME(c.on), c.at, NAME(c.line), c.final);
		drop(); DENIED(c.bent)
	fi
}

/* differs: a second witness contradicts. Of its own attempt conch believes no more than what
 * is linked anew, another's it looks for again. */
inline differs() {
	if
	:: c.tx == X || c.tx == Y || c.tx == F -> unlink();
#ifdef LIVE
		c.refuted = 1
#endif
	:: else -> drop()
	fi
}

byte f; /* scratch, 0 between steps: the height of the second witness's final block */

/* second is the answer of an endpoint, whose final block is block f of a side. */
inline second(endpoint, side) {
	if
	:: LEADS(side, c.bent2) && SEES_IT -> printf("endpoint %d: final is %c%d, and %e is in %c%d\n", endpoint + 1, NAME(side), f, c.tx, NAME(c.on), c.at);
		AGREED
	:: else -> printf("endpoint %d: final is %c%d, and %e is not in %c%d\n", endpoint + 1, NAME(side), f, c.tx, NAME(c.on), c.at);
		if :: !LEADS(side, c.bent2) -> DENIED(c.bent2) :: else fi;
		differs()
	fi;
	f = 0
}

active proctype conch() {
	do
	:: d_step { FAULTS && LINKS -> links() }
	:: d_step { FAULTS && c.end == OPEN && c.slot == 0 && !c.cancel -> c.cancel = 1;
		printf("conch: is asked to cancel, and sends F\n") }
#ifdef NO_COUNT_BY_HASH
	/* Every count of a head said that the nonce is used, and no block has it. All of them may be
	 * of the dead branch. */
	:: d_step { FAULTS && c.end == OPEN && c.slot == 0 && !c.cancel && c.tx == 0 && c.line == M && c.final > 0 && br[D].tx != 0 && br[M].tx == 0 ->
		c.slot = 1;
		printf("conch: nonce 0 counts as used, and no block has it; signs Y with nonce 1\n") }
#endif
	od
}

/* ---- an endpoint's backends: what each answers ------------------------------- */

#ifdef NO_LINKED
#define FOLLOWS(b) true
#else
#define FOLLOWS(b) (c.line == (b))
#endif
#define NAMES_FINAL(lag) FAULTS && c.end == OPEN && FOLLOWS(b) && SERVES(e, b) && br[b].height > lag && FINAL(e, b, br[b].height - lag) > c.final
#define CONFIRMS(lag) FAULTS && c.first != 0 && WITNESSES(e) && SERVES(e, b) && br[b].height > lag && \
	(c.tx == A || FINAL(e, b, br[b].height - lag) >= c.at) && MOVED_ON(e, FINAL(e, b, br[b].height - lag))

inline named(lag) {
	c.final = FINAL(e, b, br[b].height - lag);
	BY(e);
	printf("endpoint %d, on %c: block %c%d is final\n", e + 1, NAME(b), NAME(b), c.final)
}
#ifdef TWO
#define BACKENDS 4
#else
#define BACKENDS 2
#endif
active [BACKENDS] proctype backend() {
	byte e = (_pid - 3) / 2;
	byte b = (_pid - 3) % 2;
	do
	:: d_step { FAULTS && c.end == OPEN && c.line != b && SERVES(e, b) && br[b].height > 0 -> follow(b);
		printf("endpoint %d, on %c: its head is on %c\n", e + 1, NAME(b), NAME(b)) }
	:: d_step { NAMES_FINAL(0) -> named(0) }
	:: d_step { NAMES_FINAL(1) -> named(1) }
	:: d_step { NAMES_FINAL(2) -> named(2) }
	:: d_step { FINDS && FAULTS && SERVES(e, b) && c.slot == 0 && br[b].tx != 0 && br[b].tx != A && (c.tx != br[b].tx || c.on != b || c.at != br[b].at) ->
		found(b, br[b].tx, br[b].at);
		printf("endpoint %d, on %c: %e is in block %c%d\n", e + 1, NAME(b), c.tx, NAME(b), c.at) }
	:: d_step { FINDS && FAULTS && SERVES(e, b) && c.slot == 1 && br[b].y != 0 && (c.on != b || c.at != br[b].y) ->
		found(b, Y, br[b].y);
		printf("endpoint %d, on %c: Y is in block %c%d\n", e + 1, NAME(b), NAME(b), c.at) }
#ifdef COUNTS
	/* W14: witnesses count as of the head that is followed, in whose blocks conch has seen no transaction. */
	:: d_step { FINDS && FAULTS && c.line == b && SERVES(e, b) && c.slot == 0 && (c.tx == 0 && br[b].tx == A || c.tx == A && c.counts < ENOUGH && br[b].tx != 0) ->
		if :: c.tx == 0 -> c.tx = A :: else fi;
		counted();
		printf("endpoint %d, on %c: as of %c%d nonce 0 is used\n", e + 1, NAME(b), NAME(b), c.at) }
	:: d_step { FINDS && FAULTS && c.line == b && SERVES(e, b) && c.tx == A && c.counts < ENOUGH && br[b].tx == 0 ->
		printf("endpoint %d, on %c: nonce 0 is not used\n", e + 1, NAME(b)); drop() }
#endif
#ifdef UNSIGNED
	:: d_step { FINDS && FAULTS && SERVES(e, b) && c.slot == 0 && br[b].n != 0 && (c.tx != N || c.on != b || c.at != br[b].n) ->
		found(b, N, br[b].n);
		printf("endpoint %d, on %c: N is in block %c%d\n", e + 1, NAME(b), NAME(b), c.at) }
#endif
	:: d_step { CONFIRMS(0) -> f = FINAL(e, b, br[b].height - 0); second(e, b) }
	:: d_step { CONFIRMS(1) -> f = FINAL(e, b, br[b].height - 1); second(e, b) }
	:: d_step { CONFIRMS(2) -> f = FINAL(e, b, br[b].height - 2); second(e, b) }
	od
}

/* ---- lies -------------------------------------------------------------------- */

#if LIES > 0
#define LYING (lies < LIES && c.end == OPEN && FAULTS)
#define CLAIM(t, n) :: d_step { LYING && FINDS && n <= br[b].height && (c.tx != t || c.on != b || c.at != n) && ((t == Y) == (c.slot == 1)) && (t != F || c.cancel) -> \
	lies = lies + 1; found(b, t, n); printf("a lie: %e is in block %c%d\n", t, NAME(b), n) }
#if TOP > 4
#define EACH(claim, t) claim(t, 1) claim(t, 2) claim(t, 3) claim(t, 4) claim(t, 5) claim(t, 6) claim(t, 7) claim(t, 8)
#else
#define EACH(claim, t) claim(t, 1) claim(t, 2) claim(t, 3) claim(t, 4)
#endif
#define FALSE_FINAL(any, n) :: d_step { LYING && FOLLOWS(b) && n <= br[b].height + 1 && n > c.final -> \
	lies = lies + 1; c.final = n; BY(0); printf("a lie: block %c%d is final\n", NAME(b), n) }

/* The lies that it takes to make the second witness agree: one about the final block or the
 * hashes that lead to it, one about the transactions in the block. */
#ifdef TWO
#ifdef OTHER_SILENT
#define SECOND 0
#else
#define SECOND (1 - c.firstBy)
#endif
#else
#define SECOND 0
#endif
#define REACHES(b) (SERVES(SECOND, b) && LEADS(b, c.bent2) && FINAL(SECOND, b, br[b].height) >= c.at && MOVED_ON(SECOND, FINAL(SECOND, b, br[b].height)))
#define TAKES (!(REACHES(M) || REACHES(D)) + !SEES_IT)
#ifdef COUNTS
#define COUNT_LIES \
	:: d_step { LYING && FINDS && c.line == b && br[b].height > 0 && c.slot == 0 && \
		(c.tx == 0 && br[b].tx != A || c.tx == A && c.counts < ENOUGH && br[b].tx == 0) -> \
		lies = lies + 1; if :: c.tx == 0 -> c.tx = A :: else fi; counted(); printf("a lie, about the count or the transactions in a block: as of %c%d nonce 0 is used, and conch does not see by what\n", NAME(b), c.at) } \
	:: d_step { b == M && LYING && c.tx == A && c.first != 0 && (REACHES(M) || REACHES(D)) -> \
		lies = lies + 1; printf("a lie: the second search finds nothing\n"); ends() }
#else
#define COUNT_LIES
#endif

active [2] proctype liar() {
	byte b = _pid - 3 - BACKENDS;
	do
	EACH(CLAIM, X)
	EACH(CLAIM, Y)
	EACH(CLAIM, L)
	EACH(CLAIM, F)
	EACH(CLAIM, S)
	COUNT_LIES
	EACH(FALSE_FINAL, any) FALSE_FINAL(any, TOP + 1)
	:: d_step { b == M && LYING && LINKS && !LEADS(c.line, c.bent) ->
		lies = lies + 1; c.bent = 1;
		printf("a lie: block %c%d leads to block %c%d\n", NAME(c.on), c.at, NAME(c.line), c.final);
		link() }
	:: d_step { b == M && LYING && LINKS && LEADS(c.line, c.bent) ->
		lies = lies + 1; c.bent = 1;
		printf("a lie: block %c%d does not lead to block %c%d\n", NAME(c.on), c.at, NAME(c.line), c.final);
		drop(); DENIED(c.bent) }
	:: d_step { b == M && LYING && c.first != 0 && TAKES > 0 && lies + TAKES <= LIES ->
		lies = lies + TAKES;
		printf("a lie: the second witness agrees that %e is in %c%d\n", c.tx, NAME(c.on), c.at);
		AGREED }
	:: d_step { b == M && LYING && c.first != 0 ->
		lies = lies + 1;
		printf("a lie: the second witness does not have %e in %c%d\n", c.tx, NAME(c.on), c.at);
		differs() }
	:: d_step { b == M && LYING && c.first != 0 ->
		lies = lies + 1; c.bent2 = 1;
		printf("a lie: to the second witness block %c%d does not lead to its final block\n", NAME(c.on), c.at);
		DENIED(c.bent2);
		differs() }
	od
}
#endif

/* ---- after the last fault ---------------------------------------------------- */

#ifdef LIVE
/* Nobody lies, every backend but those of the other endpoint's is on M and up to date, and one
 * round is one block: it has a transaction, or none if nobody sends one; then conch reads. */
#define CALM (calm && c.end == OPEN)
#define SENDS (c.tx == 0) /* in no block, as far as conch knows */
#define USED (c.slot == 0 -> br[M].tx != 0 : br[M].y != 0)
#define SOUND LESS(br[M].height, (DEPTH > MIN_DEPTH -> DEPTH : MIN_DEPTH))

/* What conch finds: what is in the new block; any block's if it knows of none; and its own
 * attempt elsewhere if a second witness has refuted where it was. */
#ifdef NO_REFUTED_DROPPED
#define REFUTED false
#else
#define REFUTED (c.refuted)
#endif
inline reads() {
	if
	:: c.slot == 0 && br[M].tx != 0 && (br[M].at == br[M].height || SENDS || c.refuted && (br[M].tx == X || br[M].tx == F)) ->
		found(M, br[M].tx, br[M].at)
	:: c.slot == 1 && br[M].y != 0 && (br[M].y == br[M].height || SENDS || c.refuted) ->
		found(M, Y, br[M].y)
	:: else ->
		if :: REFUTED -> drop(); printf("conch: sends again\n") :: else fi
	fi
}

#if !defined(TWO)
#define ASKED 0
#elif defined(OTHER_SILENT)
#define ASKED 0
#else
#define ASKED (1 - c.firstBy)
#endif
#if defined(OTHER_BRANCH)
#define OF(e) ((e) == 0 -> M : D)
#else
#define OF(e) M
#endif
#ifdef NO_ALONE
#define ANSWERS false
#else
#define ANSWERS true
#endif

inline round() {
	late = late + 1;
	if :: c.line != M -> follow(M) :: else fi;
	if :: SOUND > c.final -> c.final = SOUND; BY(0) :: else fi;
	reads();
	if :: LINKS -> links() :: else fi;
	if
	:: c.first != 0 && ANSWERS ->
		f = FINAL(ASKED, OF(ASKED), br[OF(ASKED)].height);
		if :: f >= c.at && MOVED_ON(ASKED, f) -> second(ASKED, OF(ASKED)) :: else -> f = 0 fi
	:: else
	fi;
	assert(c.end != OPEN || decided)
}

active proctype rest() {
	do
	:: d_step { FAULTS && c.end == OPEN -> calm = 1; printf("==== the last fault\n") }
	:: d_step { CALM && br[M].tx == 0 -> include(M, X); round() }
	:: d_step { CALM && br[M].tx == 0 -> include(M, L); round() }
	:: d_step { CALM && br[M].tx == 0 -> include(M, S); round() }
	:: d_step { CALM && br[M].tx == 0 && c.cancel -> include(M, F); round() }
	:: d_step { CALM && br[M].tx != 0 && c.slot == 1 && br[M].y == 0 ->
		grow(M); br[M].y = br[M].height; printf("chain: m%d has Y\n", br[M].height); round() }
	:: d_step { CALM && (USED || !SENDS) -> grow(M); printf("chain: m%d has nothing of ours\n", br[M].height); round() }
	od
}
#endif
