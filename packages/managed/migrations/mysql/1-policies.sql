-- Managed policies of Sluice, and overrides for single keys: a row each, and a row that counts their changes. Names are
-- bytes, because keys that differ only in case, or in spaces at their end, differ.
-- Another name than sluice_policies, as the option `table` has it, is written in all places, and in 2-put.sql.
create table sluice_policies (
  name varbinary(1200) primary key,
  record longtext character set utf8mb4 not null,
  is_override tinyint not null,
  version bigint not null,
  key sluice_policies_changes (is_override, version)
) engine = InnoDB;

create table sluice_policies_counter (
  id tinyint primary key,
  version bigint not null
) engine = InnoDB;

insert into sluice_policies_counter (id, version) values (1, 0);
