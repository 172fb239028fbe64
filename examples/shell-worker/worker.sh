#!/bin/sh
# A worker in shell that may run in several copies, of which one works.
#
#   psql "$CONCH_DB_URL" -c 'CREATE TABLE public.payments (id bigserial, epoch bigint NOT NULL, worker text NOT NULL)'
#   conch run --scope payments --fenced --restart -- sh worker.sh
#
# `conch run` starts it only while it leads. Each transaction ends with the fence, so
# the database refuses what is written in the name of a leadership that is over.
set -u
: "${CONCH_SCOPE:?start it under: conch run --scope S -- sh worker.sh}"

# conch asks before it kills, and asks psql as well: a transaction that is cut off is
# rolled back, and the loop ends.
stop=
trap 'stop=yes' TERM

while [ -z "$stop" ]; do
	# Values go in as psql variables, which quote themselves: :'scope' is a literal.
	if ! said=$(psql -X -q -t -A "$CONCH_DB_URL" -v ON_ERROR_STOP=1 -v VERBOSITY=sqlstate \
		-v scope="$CONCH_SCOPE" -v epoch="$CONCH_EPOCH" -v term="$CONCH_TERM" -v me="${CONCH_ID-}" 2>&1 <<-'SQL'
		BEGIN;
		INSERT INTO payments (epoch, worker) VALUES (:epoch, :'me') RETURNING 'paid ' || id || ' under epoch ' || epoch;
		SELECT conch.fence(:'scope', :epoch, :'term'); -- last, right before the commit
		COMMIT;
		SQL
	); then
		[ -z "$stop" ] || exit 0
		case $said in
		*CN001*) echo "somebody else leads $CONCH_SCOPE by now" >&2 ;; # never to be tried again
		*) echo "the database refused: $said" >&2 ;;
		esac
		exit 1
	fi
	# The fence returns an empty line.
	printf '%s\n' "$said" | grep paid
	# In the background: some shells lose a signal while they start what they wait for.
	sleep 0.1 &
	wait $!
done
exit 0
