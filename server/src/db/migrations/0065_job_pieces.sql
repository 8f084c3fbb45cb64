-- The file that a job makes, in pieces: a table of a million contacts has hundreds of megabytes.
create table job_pieces (
  project_id uuid not null,
  job_id uuid not null,
  piece int not null,
  content text not null,
  primary key (project_id, job_id, piece),
  foreign key (project_id, job_id) references jobs on delete cascade
);
