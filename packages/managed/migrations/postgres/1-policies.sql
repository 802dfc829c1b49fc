-- Managed policies of Sluice, and overrides for single keys: a row each, and a row that counts their changes.
-- Another name than sluice_policies, as the option `table` has it, is written in all places.
create table sluice_policies (
  name text primary key,
  record text not null,
  is_override boolean not null,
  version bigint not null
);

create index sluice_policies_changes on sluice_policies (is_override, version);

create table sluice_policies_counter (
  id integer primary key check (id = 1),
  version bigint not null
);

insert into sluice_policies_counter (id, version) values (1, 0);
