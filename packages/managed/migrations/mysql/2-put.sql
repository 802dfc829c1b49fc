-- Writes a row if it still has the version that the caller has read (0: there is none), and counts the change in the same
-- transaction, so that versions commit in order. One statement: mysql --delimiter=// reads it.
create procedure sluice_policies_put(
  in given_name varbinary(1200),
  in given_record longtext character set utf8mb4,
  in given_override tinyint,
  in given_before bigint
)
begin
  declare next_version bigint;
  declare exit handler for sqlexception
  begin
    rollback;
    resignal;
  end;
  start transaction;
  update sluice_policies_counter set version = version + 1 where id = 1;
  select version into next_version from sluice_policies_counter where id = 1;
  insert into sluice_policies (name, record, is_override, version)
  values (given_name, given_record, given_override, next_version)
  on duplicate key update
    record = if(version = given_before, given_record, record),
    version = if(version = given_before, next_version, version);
  select count(*) as written from sluice_policies where name = given_name and version = next_version;
  commit;
end
