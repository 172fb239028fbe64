-- What was acknowledged is gone with these tables: `conch migrate down` refuses while there is a log.
DROP FUNCTION conch.log_newest(bytea, bigint), conch.log_read(bytea, bigint, int, bigint), conch.log_append(bytea, text, bigint, bigint, bytea[], bytea[]);
DROP TABLE conch.log_record, conch.log;
