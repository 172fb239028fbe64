-- The guard of epochs stays as it is: version 4 needs no other, and epochs outlive the schema.
ALTER TABLE conch.process DROP CONSTRAINT process_lease_ms;
ALTER FUNCTION conch.fence_closely(text, bigint, uuid) RESET row_security;
CREATE OR REPLACE TRIGGER announce_command AFTER INSERT OR UPDATE OF state ON conch.command
    FOR EACH ROW EXECUTE FUNCTION conch.announce_command();
CREATE OR REPLACE TRIGGER announce AFTER UPDATE ON conch.leadership FOR EACH ROW
    WHEN (OLD.term IS DISTINCT FROM NEW.term OR OLD.parted_at IS DISTINCT FROM NEW.parted_at)
    EXECUTE FUNCTION conch.announce();
