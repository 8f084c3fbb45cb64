-- Each upload counts the unfinished imports of its project, among a month of finished jobs.
create index jobs_unfinished on jobs (project_id, type) where finished_at is null;
